"""Writes a call of a command as a shell command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any


def command_line(command: str, options: Mapping[str, Any]) -> str:
    """Return the shell command line of a perfmodel command.

    Parameters
    ----------
    command : such as ``predict``
    options : values by their names in Python; an option that is None is left out

    >>> command_line("predict", {"workload": "vgg16", "world_size": 8, "network_cap": False, "node": None})
    'perfmodel predict --workload vgg16 --gpus 8 --no-network-cap'
    """
    words = ["perfmodel", command]
    for name, value in options.items():
        if value is None:
            continue
        option = _option(name)
        words += (
            [option.replace("--", "--" if value else "--no-", 1)]
            if isinstance(value, bool)
            else [option, str(value)]
        )
    return shlex.join(words)


def _option(name: str) -> str:
    return "--gpus" if name == "world_size" else f"--{name.replace('_', '-')}"
