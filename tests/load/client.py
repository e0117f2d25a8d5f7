"""Clients on kept connections: each asks, waits for the answer and asks again, until an end."""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

LONGEST = 120.0
"""Seconds that a load lasts at most."""
MOST_CLIENTS = 256


@dataclass
class Tally:
    """What became of the requests of some clients."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    lasted: float = 0.0

    def percentile(self, share: float) -> float:
        """Return the time [s] within which so large a share of the requests were answered."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    def line(self, name: str) -> str:
        wrong = self.errors.total() + sum(n for status, n in self.statuses.items() if status != 200)
        count = len(self.seconds)
        return (
            f"{name}: {count / self.lasted:,.0f}/s, {count:,} in {self.lasted:.1f} s, "
            f"p50 {self.percentile(0.5) * 1e3:.1f} ms, p99 {self.percentile(0.99) * 1e3:.1f} ms, "
            f"longest {max(self.seconds, default=0) * 1e3:.0f} ms, "
            f"{wrong} not answered 200 {dict(self.statuses)} {dict(self.errors)}"
        )


class _Connection(asyncio.Protocol):
    """The least that reads answers with a length: what it does itself is taken from the cores measured."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[int] | None = None
        self.head = b""
        self.missing = -1

    def data_received(self, data: bytes) -> None:
        if self.missing < 0:
            self.head += data
            head, end, data = self.head.partition(b"\r\n\r\n")
            if not end:
                return
            lines = head.lower().split(b"\r\n")
            length = next(line for line in lines if line.startswith(b"content-length:"))
            self.missing, self.status = int(length.partition(b":")[2]), int(lines[0].split()[1])
        self.missing -= len(data)
        if self.missing <= 0 and self.answer is not None:
            answer, self.answer, self.head, self.missing = self.answer, None, b"", -1
            answer.set_result(self.status)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(exc or ConnectionResetError("closed"))


async def load(
    address: tuple[str, int], path: str, bodies: Iterator[bytes], clients: int, seconds: float, requests: int
) -> Tally:
    """Send requests from so many clients at once until the time is over or all are sent.

    Raises
    ------
    ValueError : an address that is not loopback, or no bound
    """
    if not ipaddress.ip_address(address[0]).is_loopback:
        raise ValueError(f"{address[0]} is not loopback")
    if not (0 < seconds <= LONGEST and 0 < clients <= MOST_CLIENTS and 0 < requests <= 1_000_000):
        raise ValueError("a load has an end")
    tally = Tally()
    start = time.perf_counter()
    left = iter(range(requests))
    work = [_client(address, path, bodies, start + seconds, left, tally) for _ in range(clients)]
    async with asyncio.timeout(seconds + 90):
        await asyncio.gather(*work)
    tally.lasted = time.perf_counter() - start
    return tally


async def _client(
    address: tuple[str, int],
    path: str,
    bodies: Iterator[bytes],
    end: float,
    left: Iterator[int],
    tally: Tally,
) -> None:
    loop = asyncio.get_running_loop()
    transport = None
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: "
    while time.perf_counter() < end and next(left, None) is not None:
        body = next(bodies)
        start = time.perf_counter()
        try:
            if transport is None or transport.is_closing():
                transport, connection = await loop.create_connection(_Connection, *address)
            connection.answer = loop.create_future()
            transport.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
            status = await connection.answer
        except OSError as error:
            tally.errors[type(error).__name__] += 1
            transport = None
            continue
        tally.statuses[status] += 1
        tally.seconds.append(time.perf_counter() - start)
    if transport is not None:
        transport.close()
