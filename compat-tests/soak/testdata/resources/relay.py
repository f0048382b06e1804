# SPDX-License-Identifier: Apache-2.0
#
# A bolt that hands on what it gets and notes task ids that cannot be those of its emits.
import os

import storm


class Relay(storm.Bolt):
    def initialize(self, conf, context):
        self.sinks = sorted(int(task) for task, component in context["task->component"].items() if component == "sink")
        self.wrong = open(os.path.join(conf["test.out"], "wrong"), "a", buffering=1)

    def process(self, tup):
        number = tup.values[0]
        # The grouping goes by the hash, which of a small Long in a list is 31 and the number.
        want = [self.sinks[(31 + number) % len(self.sinks)]]
        got = storm.emit([number], anchors=[tup])
        if got != want:
            self.wrong.write("%d to %r, not %r\n" % (number, got, want))
        got = storm.emit([number], stream="unheard", anchors=[tup])
        if got != []:
            self.wrong.write("%d to %r, which nobody takes\n" % (number, got))
        storm.ack(tup)


Relay().run()
