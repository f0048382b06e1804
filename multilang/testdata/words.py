# SPDX-License-Identifier: Apache-2.0
"""A spout with storm.py: numbered words, and a log line for each answer."""

import storm


class Words(storm.Spout):
    def initialize(self, conf, context):
        self.next = 0
        storm.logInfo("task %d of %s" % (context["taskid"], context["componentid"]))

    def activate(self):
        storm.logDebug("activated")

    def deactivate(self):
        storm.logWarn("deactivated")

    def nextTuple(self):
        if self.next < 3:
            self.next += 1
            tasks = storm.emit(["word%d" % self.next], id=self.next)
            storm.emitDirect(9, [self.next, tasks], stream="pair", id="direct")

    def ack(self, id):
        storm.logInfo("acked %r" % id)

    def fail(self, id):
        storm.logError("failed %r" % id)


Words().run()
