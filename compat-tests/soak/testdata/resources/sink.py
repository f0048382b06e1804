# SPDX-License-Identifier: Apache-2.0
#
# A bolt that notes what reaches it.
import os

import storm


class Sink(storm.Bolt):
    def initialize(self, conf, context):
        self.notes = open(os.path.join(conf["test.out"], "taken.%d" % context["taskid"]), "a", buffering=1)

    def process(self, tup):
        self.notes.write("%d\n" % tup.values[0])
        storm.ack(tup)


Sink().run()
