# SPDX-License-Identifier: Apache-2.0
"""A bolt as streamparse's quickstart makes it."""

from collections import Counter

from streamparse import Bolt


class WordCountBolt(Bolt):
    outputs = ["word", "count"]

    def initialize(self, conf, ctx):
        self.counter = Counter()

    def process(self, tup):
        word = tup.values[0]
        self.counter[word] += 1
        self.emit([word, self.counter[word]], stream="pair")
        self.logger.info("counted %s", word)
