# SPDX-License-Identifier: Apache-2.0
"""Splits sentences into words, with pystorm and msgpack."""

from pystorm import Bolt


class Split(Bolt):
    def process(self, tup):
        for word in tup.values[0].split(" "):
            self.emit([word], need_task_ids=True)


Split(serializer="msgpack").run()
