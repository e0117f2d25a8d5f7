"""Parts of a sweep written by the workers of a Dask cluster, which see the same folder as this machine."""

from __future__ import annotations

import asyncio
import logging
import pickle
import secrets
import threading
import zlib
from collections import Counter, deque
from collections.abc import Generator, Iterable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from perfmodel.errors import InputError, needed
from perfmodel.sweeps.manifest import NAME, description
from perfmodel.sweeps.part_files import PartSummary, PartWriter, part_name, write_part

PATIENCE: Final = 30
"""Seconds to wait for the scheduler and its first worker."""
AHEAD: Final = 2
"""Parts handed out for each thread of the cluster."""
LEAST_AHEAD: Final = 16
"""Parts handed out while workers may still come."""
MOST_ENDINGS: Final = 5
"""Times that the scheduler may give a part up, as those do whose workers end while they have it."""

_LOST: Final = (asyncio.CancelledError, futures.CancelledError)
"""What a client raises, besides an OSError, whose connection to the scheduler is lost."""
_known = threading.local()
"""Of a worker's thread: the writer it unpacked last, and of what."""


def waiting_words(address: str) -> str:
    """Say what a sweep on a cluster waits for before its first part, and how long at most."""
    return f"--dask {address}: waits up to {PATIENCE:g} s for its scheduler, then as long for a first worker"


def on_cluster(
    writer: PartWriter, numbers: Iterable[int], address: str
) -> Generator[tuple[int, PartSummary], None, None]:
    """Yield each part's number with its summary, in the order in which they are ready.

    A part whose worker is lost is written by another; twice is no harm, as each is renamed to the same name.

    Parameters
    ----------
    writer, numbers : what is written, and which parts of it
    address : of the scheduler, such as ``tcp://10.0.0.1:8786``

    Raises
    ------
    InputError : no scheduler or worker there; a worker with another perfmodel or without the folder; a part
        whose workers end again and again
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
        raise InputError(
            f"--dask {address}: no Dask scheduler answers there ({reason}); expected an address such as "
            "tcp://10.0.0.1:8786, which dask scheduler prints"
        ) from None
    try:
        yield from _answers(client, writer, deque(numbers), address)
    except (*_LOST, OSError) as error:
        raise InputError(
            f"--dask {address}: the scheduler is lost ({type(error).__name__}); the same command goes on "
            "where this one stopped"
        ) from None
    finally:
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


def _answers(
    client: Any, writer: PartWriter, todo: deque[int], address: str
) -> Iterator[tuple[int, PartSummary]]:
    import distributed
    from distributed import KilledWorker

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError(f"--dask {address}: no worker joined in {PATIENCE} s; start dask worker") from None
    packed = zlib.compress(pickle.dumps(writer, pickle.HIGHEST_PROTOCOL))
    sweep = description(writer.parts)["sha256"]
    run, endings = secrets.token_hex(4), Counter[int]()
    running: dict[Any, int] = {}
    library: Any = distributed  # which has no types
    ready = library.as_completed(loop=client.loop)

    def hand_out() -> None:
        most = max(LEAST_AHEAD, AHEAD * sum(client.nthreads().values()))
        while todo and len(running) < most:
            number = todo.popleft()
            key = f"perfmodel-{run}-{number}-{endings[number]}"
            future = client.submit(
                _write, packed, sweep, number, key=key, pure=False, retries=2, fifo_timeout=0
            )
            running[future] = number
            ready.add(future)

    try:
        hand_out()
        while running:
            future = next(ready)
            number = running.pop(future)
            try:
                summary = future.result()
            except KilledWorker:
                endings[number] += 1
                if endings[number] >= MOST_ENDINGS:
                    raise InputError(
                        f"part {number}: its workers ended again and again, as happens where memory runs out"
                    ) from None
                todo.append(number)
            else:
                _check(writer, summary)
                yield number, summary
            hand_out()
    finally:
        client.cancel(list(running), force=True)


def _check(writer: PartWriter, summary: PartSummary) -> None:
    """Refuse a part that this machine does not see."""
    path = Path(writer.folder) / part_name(summary.number, writer.suffix)
    try:
        size = path.stat().st_size
    except OSError:
        size = -1
    if size != summary.bytes:
        raise InputError(
            f"{path}: written by a worker, but not seen here; the folder must be one that all machines share"
        )


def _write(packed: bytes, sweep: str, number: int) -> PartSummary:
    """Write a part on a worker."""
    try:
        if getattr(_known, "packed", None) != packed:
            _known.writer = _unpacked(packed, sweep)
            _known.packed = packed
        return write_part(_known.writer, number)
    except OSError as error:  # which for the client would be one of the connection
        raise InputError(f"part {number}: {error}") from None


def _unpacked(packed: bytes, sweep: str) -> PartWriter:
    import socket

    writer: PartWriter = pickle.loads(zlib.decompress(packed))
    on = f"the worker on {socket.gethostname()}"
    if not (Path(writer.folder) / NAME).is_file():
        raise InputError(
            f"{writer.folder}: {on} does not see what was begun there; name a folder that all machines share"
        )
    if description(writer.parts)["sha256"] != sweep:
        raise InputError(
            f"{on} has another perfmodel, or other files of hardware, networks or profiles; install the same"
        )
    return writer
