"""Who evaluates the parts of a sweep, and what is said while they do: processes here, or a Dask cluster's."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from typing import TypeAlias

from perfmodel.processes import cores, each
from perfmodel.sweeps.part_files import PartSummary, PartWriter, write_part

Progress: TypeAlias = Callable[[PartSummary | None, int], None]
"""Takes a part that is complete, or None at the start, and how many scenarios are done with it."""


def silent(part: PartSummary | None, scenarios: int) -> None:
    """Say nothing."""


def jobs_of(jobs: int | None) -> int:
    """Return how many processes to start: all cores where nobody says."""
    return cores() if jobs is None else jobs


def written_parts(
    writer: PartWriter, numbers: Iterable[int], jobs: int, dask: str | None = None
) -> Generator[PartSummary, None, None]:
    """Yield a summary of each part that is written, in the order in which they are ready.

    Parameters
    ----------
    writer, numbers : what is written, and which parts of it
    jobs : processes on this machine
    dask : address of the scheduler of a cluster, whose workers write instead

    Raises
    ------
    InputError : the cluster cannot be reached, a part cannot be written, or ended its process again and again
    """
    if dask is None:
        results = each(write_part, writer, numbers, jobs)
    else:
        from perfmodel.sweeps.dask_jobs import on_cluster

        results = on_cluster(writer, numbers, dask)
    with closing(results):
        for _, summary in results:
            yield summary
