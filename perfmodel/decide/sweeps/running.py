"""Evaluation of a sweep's parts by local processes or by the workers of a Dask cluster, with progress."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from perfmodel.core.processes import cores, each
from perfmodel.decide.sweeps.part_files import PartSummary, PartWriter, check_seen, is_intact, write_part

if TYPE_CHECKING:
    from perfmodel.decide.sweeps.dask_jobs import Cluster

Progress: TypeAlias = Callable[[PartSummary | None, int], None]
"""Function called with a complete part, or None at the start, and the number of its scenarios."""


def silent(part: PartSummary | None, scenarios: int) -> None:
    """Report no progress."""


def cluster_at(dask: str | None) -> AbstractContextManager[Cluster | None]:
    """Return a context with the cluster of a scheduler's address; None without an address."""
    if dask is None:
        return nullcontext()
    from perfmodel.decide.sweeps.dask_jobs import connected

    return connected(dask)


def written_parts(
    writer: PartWriter, numbers: Sequence[int], jobs: int, cluster: Cluster | None = None
) -> Generator[PartSummary, None, None]:
    """Write parts and yield a summary of each, in the order in which they are ready.

    Parameters
    ----------
    writer, numbers : the writer, and the parts to write
    jobs : number of processes on this machine
    cluster : whose workers write instead, or None

    Raises
    ------
    InputError : a part cannot be written, or ends its process repeatedly; the cluster is lost, or writes
        into another folder
    """
    if cluster is None:
        results = each(write_part, writer, numbers, jobs)
    else:
        results = cluster.each(write_part, writer, numbers)
    with closing(results):
        for _, summary in results:
            if cluster is not None:
                check_seen(writer, summary)
            yield summary


def intact_parts(
    writer: PartWriter, parts: Sequence[PartSummary], cluster: Cluster | None = None
) -> Iterator[PartSummary]:
    """Yield the parts whose files are unchanged, checked by local threads or the workers of a cluster."""
    if cluster is not None:
        yield from (part for part, intact in cluster.each(is_intact, writer, parts) if intact)
        return
    with ThreadPoolExecutor(cores()) as threads:  # hashing leaves the interpreter to the others
        checked = threads.map(partial(is_intact, writer), parts)
        yield from (part for part, intact in zip(parts, checked, strict=True) if intact)
