"""A sweep as a folder of Parquet files with a manifest, which a later run can continue."""

from __future__ import annotations

import os
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core.errors import needed, refusal
from perfmodel.core.files.writing import Unwritable
from perfmodel.core.processes import cores
from perfmodel.decide.sweeps.lock import only_writer
from perfmodel.decide.sweeps.manifest import Manifest, description
from perfmodel.decide.sweeps.part_files import PartWriter, part_name, peak_bytes
from perfmodel.decide.sweeps.parts import nothing_to_predict
from perfmodel.decide.sweeps.running import Progress, cluster_at, intact_parts, silent, written_parts

if TYPE_CHECKING:
    from perfmodel.decide.sweeps.parts import Parts


class DataSet(NamedTuple):
    """Summary of a folder that holds every row of a sweep."""

    folder: str
    scenarios: int
    """Crossed scenarios, including those that are refused."""
    rows: int
    parts: int
    continued: int
    """Parts that an earlier run had written."""
    refused: dict[str, int]
    """Number of scenarios that ``predict`` refuses, by reason."""
    seconds: float
    """Duration of this run."""
    peak_bytes: int
    """Peak memory of the largest process of this run."""

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a dictionary, for JSON."""
        return self._asdict()


def write_data_set(
    parts: Parts,
    folder: str,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress = silent,
) -> DataSet:
    """Write every part of a sweep that the folder lacks; needs ``perfmodel[parquet]``.

    Even if it fails, the folder's manifest names the complete parts, and the same call continues from there.

    Parameters
    ----------
    parts : of the sweep
    folder : created if it does not exist
    jobs : processes on this machine; all cores by default
    dask : address of the scheduler of a cluster, whose workers share the folder
    progress : called with each complete part

    Raises
    ------
    InputError : the folder holds another sweep, is being written by another process or cannot be written;
        every scenario is refused
    MissingPackage : pyarrow, or distributed for a cluster, is not installed
    """
    needed("pyarrow.parquet", "parquet", "writing Parquet")
    began = time.monotonic()
    path = Path(os.path.realpath(folder))
    _make(path)
    with only_writer(path):
        manifest = Manifest(path, description(parts))
        _refuse_foreign(path, len(parts) if manifest.was_there else 0)
        try:
            continued, most = _write_missing(parts, manifest, jobs, dask, progress)
        except Unwritable as error:
            raise error.under(after="; the same command goes on with what is complete there") from None
        _remove_unfinished(path, len(parts))
    if not manifest.rows:
        raise nothing_to_predict(manifest.sweep["scenarios"], manifest.refused)
    return DataSet(
        folder,
        manifest.sweep["scenarios"],
        manifest.rows,
        len(parts),
        continued,
        manifest.refused,
        time.monotonic() - began,
        max(most, peak_bytes()),
    )


def _write_missing(
    parts: Parts, manifest: Manifest, jobs: int | None, dask: str | None, progress: Progress
) -> tuple[int, int]:
    """Write the parts that are not intact; return the number of intact ones and the peak memory [B]."""
    writer = PartWriter(parts, str(manifest.folder), ".parquet", manifest.sweep["sha256"])
    with cluster_at(dask) as cluster:
        intact = intact_parts(writer, list(manifest.complete.values()), cluster)
        manifest.complete = {part.number: part for part in intact}
        manifest.write()  # by which workers on other machines know the folder
        continued, most = len(manifest.complete), 0
        progress(None, sum(map(parts.scenarios, manifest.complete)))
        todo = [number for number in range(len(parts)) if number not in manifest.complete]
        try:
            with closing(written_parts(writer, todo, jobs or cores(), cluster)) as summaries:
                for part in summaries:
                    manifest.add(part)
                    most = max(most, part.peak_bytes)
                    progress(part, parts.scenarios(part.number))
        finally:
            manifest.write()
    return continued, most


def _make(path: Path) -> None:
    """Create a folder; an InputError where that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal("sweep.no_folder", strerror=error.strerror).under(path) from None


def _refuse_foreign(path: Path, parts: int) -> None:
    """Raise an InputError for files that readers of the folder would take for parts of this sweep.

    A process that is killed leaves parts that its manifest does not name yet; these are written again.
    """
    names = {part_name(number) for number in range(parts)}
    for file in sorted(path.glob("*.parquet")):
        if file.name not in names:
            raise refusal("sweep.other_file", file=file.name).under(path)


def _remove_unfinished(path: Path, parts: int) -> None:
    """Remove temporary files of killed processes; every complete part has its final name."""
    names = {part_name(number) for number in range(parts)}
    for file in path.glob(".part-*.parquet.*"):
        if file.name[1:].rpartition(".")[0] in names:
            with suppress(OSError):
                file.unlink()
