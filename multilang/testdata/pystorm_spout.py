# SPDX-License-Identifier: Apache-2.0
"""A reliable spout with pystorm; the first argument is its serializer."""

import sys

from pystorm import ReliableSpout


class Numbers(ReliableSpout):
    def initialize(self, conf, context):
        self.next = 0

    def next_tuple(self):
        if self.next < 2:
            self.next += 1
            self.emit([b"\xff" if len(sys.argv) > 2 else self.next], tup_id="n%d" % self.next)


Numbers(serializer=sys.argv[1]).run()
