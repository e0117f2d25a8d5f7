"""Parts of a sweep evaluated by workers of a Dask cluster, which share this machine's folder.

The scheduler gets all tasks at once: it queues them, retries failed ones, and gives those of lost workers to
others.  A part that is written twice does no harm, as both files are renamed to the same name.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import pickle
import secrets
import threading
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent import futures
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from perfmodel.core.errors import InputError, needed, refusal
from perfmodel.decide.sweeps.manifest import NAME, description
from perfmodel.decide.sweeps.part_files import PartWriter

Item = TypeVar("Item")
Answer = TypeVar("Answer")

PATIENCE: Final = 30
"""Seconds to wait for the scheduler, and for its first worker."""
TASKS: Final = 500
"""Number of tasks into which items are grouped, if there are as many: several for each of 100 workers."""
MOST_IN_TASK: Final = 16
"""Largest number of items in a task: some seconds of work, which a lost worker loses."""
RETRIES: Final = 2
"""Retries of a failed task."""

_LOST: Final = (asyncio.CancelledError, futures.CancelledError)
"""Exceptions, in addition to OSError, of a client that lost its scheduler."""
_TRIM, _MMAP = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of the C library's ``mallopt``."""
_LARGEST_KEPT: Final = 2**25
"""Size of an array up to which its memory is reused [B]: the most to which glibc adapts by itself."""
_known = threading.local()
"""Per worker thread: the writer that was unpacked last, and its packed form."""


def waiting_words(address: str) -> str:
    """Return a message on what a sweep on a cluster waits for, and how long at most."""
    return f"--dask {address}: waits up to {PATIENCE:g} s for its scheduler, then as long for a first worker"


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Yield the cluster whose scheduler has an address, such as ``tcp://10.0.0.1:8786``.

    Raises
    ------
    InputError : no scheduler or worker there
    MissingPackage : distributed is not installed
    """
    needed("distributed", "dask", "--dask")
    import distributed

    library: Any = distributed  # which has no types
    try:
        client = library.Client(address, timeout=PATIENCE, set_as_default=False, name="perfmodel")
    except (OSError, ValueError, TypeError, MemoryError) as error:
        # the reply of a web server is read as a length that exceeds memory
        reason = (
            "another server, as a dashboard is" if isinstance(error, MemoryError) else type(error).__name__
        )
        raise refusal("dask.no_scheduler", address=address, reason=reason) from None
    try:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise refusal("dask.no_worker", address=address, patience=PATIENCE) from None
        yield Cluster(client, address)
    finally:  # with the client go the tasks that are left
        with _unlogged():
            client.close()


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep a client from logging the traceback of a lost scheduler, which an error reports in words."""
    logger = logging.getLogger("distributed.client")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


class Cluster:
    """Workers of a Dask cluster.

    Parameters
    ----------
    client : of its scheduler
    address : of its scheduler, for messages
    """

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address

    def each(
        self,
        work: Callable[[PartWriter, Item], Answer],
        writer: PartWriter,
        items: Sequence[Item],
    ) -> Generator[tuple[Item, Answer], None, None]:
        """Yield each item with its result, in the order in which they are ready, as ``processes.each`` does.

        Parameters
        ----------
        work : function of a module, of the writer and an item
        writer, items : what to work on

        Raises
        ------
        InputError : a worker has another perfmodel or does not see the folder; workers end repeatedly at the
            same items; the scheduler is lost.  Errors of ``work`` are raised unchanged.
        """
        import distributed
        from distributed import KilledWorker

        library: Any = distributed
        size = max(1, min(MOST_IN_TASK, len(items) // TASKS))
        run = secrets.token_hex(4)
        tasks = {
            f"perfmodel-{run}-{first}": items[first : first + size] for first in range(0, len(items), size)
        }
        packed = zlib.compress(pickle.dumps(writer, pickle.HIGHEST_PROTOCOL))
        try:
            sent = self._client.map(
                _answers,
                list(tasks.values()),
                key=list(tasks),
                pure=False,
                retries=RETRIES,
                work=work,
                packed=packed,
            )
            ready = library.as_completed(sent, loop=self._client.loop)
            del sent  # answers that were read leave the cluster
            for batch in ready.batches():
                for future, answers in zip(batch, self._client.gather(batch), strict=True):
                    yield from zip(tasks.pop(future.key), answers, strict=True)
        except KilledWorker:
            raise refusal("dask.workers_ended", address=self._address) from None
        except (*_LOST, OSError) as error:
            raise refusal("dask.lost", address=self._address, name=type(error).__name__) from None


def _answers(
    items: Sequence[Item], work: Callable[[PartWriter, Item], Answer], packed: bytes
) -> list[Answer]:
    """Return the results of the items of one task; runs on a worker."""
    try:
        if getattr(_known, "packed", None) != packed:
            _known.writer = _unpacked(packed)
            _known.packed = packed
        return [work(_known.writer, item) for item in items]
    except OSError as error:  # which for the client would be one of the connection
        raise InputError(str(error)) from None


def _unpacked(packed: bytes) -> PartWriter:
    """Return the writer on a worker; an InputError where folder or version of perfmodel differ."""
    import socket

    _keep_memory()
    writer: PartWriter = pickle.loads(zlib.decompress(packed))
    on = f"the worker on {socket.gethostname()}"
    if not (Path(writer.folder) / NAME).is_file():
        raise refusal("dask.not_shared", on=on).under(writer.folder)
    if description(writer.parts)["sha256"] != writer.sweep:
        raise refusal("dask.other_version", on=on)
    return writer


def _keep_memory() -> None:
    """Let this process reuse the memory of its arrays, as it does outside of Dask.

    Dask starts workers with a trim threshold of 64 kB, so that glibc returns the memory of every array to the
    system and requests it anew, page by page: a third of a part's time.  With this a worker holds up to 64 MB
    more than it uses.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP, _LARGEST_KEPT)
        library.mallopt(_TRIM, 2 * _LARGEST_KEPT)
