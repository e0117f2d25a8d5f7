"""``perfmodel.servers``: what it matters where parameter servers run."""

from __future__ import annotations

from typing import Final

from perfmodel.arguments import COUNT, TEXT, expect
from perfmodel.errors import InputError
from perfmodel.prediction.servers import Arrangements, arrangements
from perfmodel.resolve import DEFAULT_INTER_LINK
from perfmodel.specs.scenario import LARGEST_WORLD_SIZE
from perfmodel.specs.store import Catalogue
from perfmodel.units import parse

LARGEST: Final = 1e15
"""[B]"""


def servers(
    *,
    workers: int = 8,
    servers: int = 4,
    gradient_size: float | str = "100MB",
    inter_link: str = DEFAULT_INTER_LINK,
    catalogue: Catalogue | None = None,
) -> Arrangements:
    """Return what a push and a pull take by where parameter servers run: apart, on the workers, or both.

    Parameters
    ----------
    workers : machines with accelerators, at least 2
    servers : parameter servers; on the workers' machines at most one each
    gradient_size : of one worker [B], or a text such as ``"528MB"``
    inter_link : of every machine's one port
    catalogue : as for ``predict``

    Raises
    ------
    InputError : an unknown link, or one inside a machine; numbers out of their range

    Examples
    --------
    As many servers as workers, apart and in blocks, take half as long as a ring of the workers (BytePS).

    >>> times = {row.name: row.time for row in servers(workers=64, servers=64, gradient_size="10GB").rows}
    >>> round(times["apart, in blocks"], 2), round(times["none: a ring"], 2)
    (3.73, 7.36)
    """
    expect(COUNT, workers=workers, servers=servers)
    expect(TEXT, inter_link=inter_link)
    if max(workers, servers) > LARGEST_WORLD_SIZE:
        raise InputError(f"workers, servers: expected at most {LARGEST_WORLD_SIZE:,}")
    known = isinstance(gradient_size, (str, int, float)) and not isinstance(gradient_size, bool)
    size = parse(gradient_size, "B") if known else 0.0
    if not 0 < size <= LARGEST:
        raise InputError(
            f"--gradient-size {gradient_size!r:.60}: expected bytes above 0, at most 1 PB, e.g. '100MB'"
        )
    link = Catalogue.of(catalogue).link(inter_link)
    return arrangements(link, int(workers), int(servers), size)
