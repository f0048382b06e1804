# SPDX-License-Identifier: Apache-2.0
"""Splits a sentence into words, as a multilang child of a Java worker."""

import storm


class SplitWords(storm.BasicBolt):
    def process(self, tup):
        index, sentence = tup.values
        for position, word in enumerate(sentence.split(" ")):
            storm.emit([index, position, word])


SplitWords().run()
