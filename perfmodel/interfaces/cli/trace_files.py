"""Reading profiler files with a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.evidence.traces.device_trace import DeviceTrace
    from perfmodel.evidence.traces.nccl_tests import Timings

LARGE = 20 << 20
"""Size of a file above which a progress bar is shown [B]."""


def read_all(names: Sequence[str]) -> tuple[list[DeviceTrace], list[Timings]]:
    """Read every file, with a progress bar on the terminal's error stream for large ones.

    Raises
    ------
    InputError : a file that cannot be read, or of an unknown type
    """
    from perfmodel.evidence.traces import read

    return read.read_all(names, lambda path: _read(path, read.read_trace))


def _read(path: Path, read: Any) -> Any:
    """Read one file, with a progress bar if it is large."""
    if path.stat().st_size < LARGE:
        return read(path)
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(path.name, total=path.stat().st_size)
        return read(path, lambda position: bar.update(task, completed=position))
