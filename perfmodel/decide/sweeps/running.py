"""Who evaluates the parts of a sweep, and what is said while they do: processes here, or a Dask cluster's."""

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
"""Takes a part that is complete, or None at the start, and how many scenarios are done with it."""


def silent(part: PartSummary | None, scenarios: int) -> None:
    """Say nothing."""


def cluster_at(dask: str | None) -> AbstractContextManager[Cluster | None]:
    """Give the cluster whose scheduler has an address; None where there is no address."""
    if dask is None:
        return nullcontext()
    from perfmodel.decide.sweeps.dask_jobs import connected

    return connected(dask)


def written_parts(
    writer: PartWriter, numbers: Sequence[int], jobs: int, cluster: Cluster | None = None
) -> Generator[PartSummary, None, None]:
    """Yield a summary of each part that is written, in the order in which they are ready.

    Parameters
    ----------
    writer, numbers : what is written, and which parts of it
    jobs : processes on this machine
    cluster : whose workers write instead

    Raises
    ------
    InputError : a part cannot be written, or ended its process again and again; the cluster is lost, or
        writes into another folder
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
    """Yield those parts whose files are as they were written, by threads here or the workers of a cluster."""
    if cluster is not None:
        yield from (part for part, intact in cluster.each(is_intact, writer, parts) if intact)
        return
    with ThreadPoolExecutor(cores()) as threads:  # hashing leaves the interpreter to the others
        checked = threads.map(partial(is_intact, writer), parts)
        yield from (part for part, intact in zip(parts, checked, strict=True) if intact)
