"""Where parameter servers run: on machines of their own, on the workers' machines, or on both (BytePS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import Rows, aligned
from perfmodel.core.units import plural, show
from perfmodel.equations import parameter_server, server_load
from perfmodel.equations.ring_all_reduce import ring_all_reduce_time
from perfmodel.hardware.link import Link
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.setting.resolve import DEFAULT_INTER_LINK
from perfmodel.model.step.ports import bulk_bandwidth


@dataclass(frozen=True)
class Arrangement:
    """One way to place servers."""

    name: str
    """Where the servers run, and whether a block's pull starts before the pushes end."""
    machines: int
    """In all, workers and servers."""
    time: float
    """Of a push and a pull of all gradients [s]."""
    total_bytes: float | None
    """That all machines send [B]; None of shards of two sizes."""
    server_port_bytes: float | None
    """Through the port of one server, both ways together, with a worker's own traffic beside it [B]."""
    server_memory_bytes: float | None
    """Of a server with a buffer for each worker and plain SGD [B]."""


@dataclass(frozen=True, repr=False)
class Arrangements(Rows):
    """Every way to place so many servers, and a ring of the workers."""

    rows: tuple[Arrangement, ...]
    link: str
    """Of workers and servers."""
    bandwidth: float
    """That bulk transfers reach on a port, each way [B/s]."""
    note: str
    """What limits the answer."""

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows as people read them, in the order of ``HEADINGS``."""

        def shown(size: float | None) -> str:
            return "" if size is None else show(size, "B")

        return [
            (
                row.name,
                str(row.machines),
                show(row.time, "s"),
                shown(row.total_bytes),
                shown(row.server_port_bytes),
                shown(row.server_memory_bytes),
            )
            for row in self.rows
        ]

    def __repr__(self) -> str:
        return aligned(f"Arrangements: {self.note}", HEADINGS, self.cells(), left=1)


HEADINGS = ("servers", "machines", "time", "all send", "a server's port", "its memory")


def arrangements(link: Link, workers: int, servers: int, message_bytes: float) -> Arrangements:
    """Return what a push and a pull of equal shards take, by where the servers run.

    Parameters
    ----------
    link : of every machine's one port
    workers : machines that compute gradients
    servers : at least 1; on the workers' machines at most one each
    message_bytes : gradients of one worker [B]

    Raises
    ------
    InputError : nothing to send, fewer than two workers, a link inside a machine
    """
    if not message_bytes > 0:
        raise refusal("servers.gradient_size", message_bytes=message_bytes)
    if workers < 2:
        raise refusal("servers.workers", workers=workers)
    if link.scope != "inter":
        raise refusal("servers.inter_link", link=link.id, default_inter_link=DEFAULT_INTER_LINK)
    port = bulk_bandwidth(link, calibration(), 1)
    hop = (link.bulk_hop_latency or link.hop_latency).value
    of_all = workers, servers, message_bytes, hop
    beside = min(servers, workers)
    through = server_load.colocated_server_port_bytes(workers, beside, message_bytes)
    hosts = f"on {beside} {plural('worker', beside)}"
    around = server_load.colocated_total_bytes(workers, message_bytes)
    apart = (
        server_load.parameter_server_total_bytes(workers, message_bytes),
        server_load.server_port_bytes(workers, servers, message_bytes),
        server_load.server_memory_bytes(workers, servers, message_bytes),
    )
    beside_workers = (
        around,
        through,
        server_load.server_memory_bytes(workers, beside, message_bytes),
    )
    more, nothing = workers + servers, (None, None)
    rows: list[tuple[Any, ...]] = [
        ("apart", more, parameter_server.parameter_server_time(*of_all, port, port), *apart),
        (
            "apart, in blocks",
            more,
            parameter_server.pipelined_parameter_server_time(*of_all, port, port),
            *apart,
        ),
        (
            hosts,
            workers,
            parameter_server.colocated_parameter_server_time(workers, beside, message_bytes, hop, port),
            *beside_workers,
        ),
        (f"{hosts}, in blocks", workers, 2 * hop + through / 2 / port, *beside_workers),
        ("apart and on workers", more, parameter_server.extra_server_time(*of_all, port), None, *nothing),
        ("none: a ring", workers, ring_all_reduce_time(workers, message_bytes, hop, port), around, *nothing),
    ]
    note = f"{workers} workers, {show(message_bytes, 'B')} of gradients in equal shards, nothing hidden"
    return Arrangements(tuple(Arrangement(*row) for row in rows), link.id, port, note)
