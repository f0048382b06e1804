# SPDX-License-Identifier: Apache-2.0
#
# A spout of numbers that notes each one acked, and after its start begins with the first that is not. Ids are numbers and strings in turn.
# A file "limit" holds the number at which it ends.
import os
import time

import storm


class Numbers(storm.Spout):
    def initialize(self, conf, context):
        self.dir = conf["test.out"]
        self.acked = set()
        path = os.path.join(self.dir, "acked")
        if os.path.exists(path):
            with open(path) as notes:
                self.acked = {int(line) for line in notes}
        self.notes = open(path, "a", buffering=1)
        self.next = 0
        self.again = []
        self.pending = set()

    def nextTuple(self):
        time.sleep(0.002)
        if self.again:
            number = self.again.pop()
        else:
            while self.next in self.acked:
                self.next += 1
            number = self.next
            if number >= self.limit():
                return
            self.next += 1
        self.pending.add(number)
        storm.emit([number], id=number if number % 2 else str(number))

    def limit(self):
        try:
            with open(os.path.join(self.dir, "limit")) as limit:
                return int(limit.read())
        except FileNotFoundError:
            return float("inf")

    def ack(self, id):
        number = int(id)
        if isinstance(id, str) != (number % 2 == 0):
            raise Exception("%r came back as %r" % (number, id))
        if number in self.pending:
            self.pending.remove(number)
            self.acked.add(number)
            self.notes.write("%d\n" % number)

    def fail(self, id):
        number = int(id)
        if number in self.pending:
            self.pending.remove(number)
            self.again.append(number)


Numbers().run()
