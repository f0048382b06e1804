# SPDX-License-Identifier: Apache-2.0
"""Splits sentences into words, with Storm's storm.py."""

import storm


class Split(storm.BasicBolt):
    def process(self, tup):
        for word in tup.values[0].split(" "):
            storm.emit([word])


Split().run()
