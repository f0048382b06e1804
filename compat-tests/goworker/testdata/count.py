# SPDX-License-Identifier: Apache-2.0
#
# Counts words and emits each word's count.
import storm


class Count(storm.BasicBolt):
    def initialize(self, conf, context):
        self.counts = {}

    def process(self, tup):
        word = tup.values[0]
        self.counts[word] = self.counts.get(word, 0) + 1
        storm.emit([word, self.counts[word]])


Count().run()
