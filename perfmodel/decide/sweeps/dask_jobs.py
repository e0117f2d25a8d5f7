"""Parts of a sweep by the workers of a Dask cluster, which see the same folder as this machine.

The scheduler has all tasks at once: it queues them, tries again what failed, and gives the tasks of lost
workers to others.  Parts that are written twice are no harm, as each is renamed to the same name.
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
"""Seconds to wait for the scheduler and its first worker."""
TASKS: Final = 500
"""Tasks that items are grouped into, as far as there are so many: several for each of 100 workers."""
MOST_IN_TASK: Final = 16
"""Items of a task at most: some seconds of work, which are lost where a worker is."""
RETRIES: Final = 2
"""Of a task that fails."""

_LOST: Final = (asyncio.CancelledError, futures.CancelledError)
"""What a client raises, besides an OSError, whose connection to the scheduler is lost."""
_TRIM, _MMAP = -1, -3
"""M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of the C library's ``mallopt``."""
_LARGEST_KEPT: Final = 2**25
"""Bytes of an array whose memory is used again: the most to which glibc raises its threshold by itself."""
_known = threading.local()
"""Of a worker's thread: the writer it unpacked last, and of what."""


def waiting_words(address: str) -> str:
    """Say what a sweep on a cluster waits for before its first part, and how long at most."""
    return f"--dask {address}: waits up to {PATIENCE:g} s for its scheduler, then as long for a first worker"


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Give the cluster whose scheduler has an address, such as ``tcp://10.0.0.1:8786``.

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
        # what a web server says is read as a length that no memory has
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
    """Keep a client whose scheduler is lost from logging the traceback of that, which is said in words."""
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
        """Yield each item with its answer, in the order in which they are ready, as ``processes.each`` does.

        Parameters
        ----------
        work : function of a module, of the writer and an item
        writer, items : what to work on

        Raises
        ------
        InputError : a worker has another perfmodel or does not see the folder; workers end again and again at
            the same items; the scheduler is lost; what ``work`` raises is raised as it is
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
    """Work on the items of one task, on a worker."""
    try:
        if getattr(_known, "packed", None) != packed:
            _known.writer = _unpacked(packed)
            _known.packed = packed
        return [work(_known.writer, item) for item in items]
    except OSError as error:  # which for the client would be one of the connection
        raise InputError(str(error)) from None


def _unpacked(packed: bytes) -> PartWriter:
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
    """Let this process use the memory of its arrays again, as it does outside of Dask.

    Dask starts workers with a trim threshold of 64 kB, by which glibc returns the memory of every array
    to the system and takes it anew, page by page: a third of a part's time.  A worker then holds up to 64 MB
    more than it uses.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP, _LARGEST_KEPT)
        library.mallopt(_TRIM, 2 * _LARGEST_KEPT)
