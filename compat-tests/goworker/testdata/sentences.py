# SPDX-License-Identifier: Apache-2.0
#
# A spout of numbered sentences that notes each ack and fail in a file of its own.
import os
import storm


class Sentences(storm.Spout):
    def initialize(self, conf, context):
        self.next_id = 0
        self.pending = {}
        name = "%d.%d" % (context["taskid"], os.getpid())
        self.out = open(os.path.join(conf["test.out"], "spout." + name), "a")

    def nextTuple(self):
        if len(self.pending) >= 50:
            return
        self.next_id += 1
        self.pending[self.next_id] = True
        storm.emit(["the cow jumped over the moon"], id=self.next_id)

    def ack(self, id):
        if self.pending.pop(id, None):
            self.note("ack")

    def fail(self, id):
        if self.pending.pop(id, None):
            self.note("fail")

    def note(self, what):
        self.out.write(what + "\n")
        self.out.flush()


Sentences().run()
