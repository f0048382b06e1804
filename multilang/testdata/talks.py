# SPDX-License-Identifier: Apache-2.0
"""A bolt with storm.py that does all there is."""

import storm


class Talks(storm.Bolt):
    def initialize(self, conf, context):
        self.first = None

    def process(self, tup):
        word = tup.values[0] if tup.values else None
        if tup.stream == "__tick":
            storm.logInfo("tick from %s, task %d, %r" % (tup.component, tup.task, tup.values))
            storm.ack(tup)
        elif word == "levels":
            storm.logTrace("t")
            storm.logDebug("d")
            storm.logInfo("i")
            storm.logWarn("w")
            storm.logError("e")
            storm.log("x", 17)
            storm.ack(tup)
        elif word == "error":
            storm.reportError("went wrong")
            storm.fail(tup)
        elif word == "metric":
            storm.rpcMetrics("seen", {"count": 3})
            storm.ack(tup)
        elif word == "keep":
            self.first = tup
        elif word == "join":
            tasks = storm.emit([self.first.values[0], word], stream="pair", anchors=[self.first, tup])
            storm.emitDirect(tasks[0], ["direct"], anchors=[tup])
            storm.ack(self.first)
            storm.ack(tup)
        elif word == "raise":
            raise ValueError("on purpose")
        elif word == "twice":
            storm.ack(tup)
            storm.ack(tup)
        elif word == "unknown stream":
            storm.emit(["x"], stream="nowhere")
        elif word == "too many":
            storm.emit(["x", "y"])


Talks().run()
