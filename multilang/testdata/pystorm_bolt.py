# SPDX-License-Identifier: Apache-2.0
"""A bolt with pystorm; the first argument is its serializer."""

import sys

from pystorm import Bolt


class Echo(Bolt):
    def process(self, tup):
        value = tup.values[0]
        if value == "bytes":  # JSON has no form for them
            value = b"caf\xe9"
        elif value == "bytes and ids":
            self.emit([b"caf\xe9"], need_task_ids=True)
            return
        elif value == "nan":
            value = float("nan")
        elif value == "raise":
            raise ValueError("on purpose")
        tasks = self.emit([value], need_task_ids=True)
        self.emit([tup.component, tasks], stream="pair")


Echo(serializer=sys.argv[1]).run()
