"""Imported once by the process from which those of the pool are forked, so that cheap commands are ready in
each.
"""

from __future__ import annotations

import json

from perfmodel.interfaces.service.commands import COMMANDS, answer

for _command in COMMANDS.values():
    if _command.cost == "cheap":
        for _body in _command.examples.values():
            answer(_command.name, json.dumps(_body).encode())
