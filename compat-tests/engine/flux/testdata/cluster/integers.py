# SPDX-License-Identifier: Apache-2.0
#
# A spout of integers that fit 32 bits, again and again: the first may be sent to a worker that is about to end.
import itertools
import time

import storm


class Integers(storm.Spout):
    def initialize(self, conf, context):
        self.next = itertools.cycle([-1 << 31, -1, 0, (1 << 31) - 1])

    def nextTuple(self):
        storm.emit([next(self.next), "loud"])
        time.sleep(0.01)


Integers().run()
