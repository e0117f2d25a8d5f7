"""Placements of parameter servers: on separate machines, on the workers' machines, or on both (BytePS)."""

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
    """One placement of parameter servers."""

    name: str
    """The servers' machines, and whether a block's pull starts before all pushes end."""
    machines: int
    """Total number of machines of workers and servers."""
    time: float
    """Time of a push and a pull of all gradients [s]."""
    total_bytes: float | None
    """Bytes that all machines send; None for shards of two sizes."""
    server_port_bytes: float | None
    """Bytes through one server's port in both directions, with the traffic of a worker on its machine."""
    server_memory_bytes: float | None
    """Memory of a server with a buffer for each worker and plain SGD [B]."""


@dataclass(frozen=True, repr=False)
class Arrangements(Rows):
    """Every placement of a number of servers, and a ring of the workers."""

    rows: tuple[Arrangement, ...]
    link: str
    """Link of workers and servers."""
    bandwidth: float
    """Bandwidth of bulk transfers over a port in each direction [B/s]."""
    note: str
    """Assumptions of the answer."""

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows as text, in the order of ``HEADINGS``."""

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
    """Return the time and traffic of a push and a pull of equal shards, by placement of the servers.

    Parameters
    ----------
    link : of every machine's single port
    workers : machines that compute gradients
    servers : at least 1; on the workers' machines at most one on each
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
    shared_hosts = min(servers, workers)
    through = server_load.colocated_server_port_bytes(workers, shared_hosts, message_bytes)
    hosts = f"on {shared_hosts} {plural('worker', shared_hosts)}"
    around = server_load.colocated_total_bytes(workers, message_bytes)
    on_separate_machines = (
        server_load.parameter_server_total_bytes(workers, message_bytes),
        server_load.server_port_bytes(workers, servers, message_bytes),
        server_load.server_memory_bytes(workers, servers, message_bytes),
    )
    on_workers = (
        around,
        through,
        server_load.server_memory_bytes(workers, shared_hosts, message_bytes),
    )
    more, nothing = workers + servers, (None, None)
    rows: list[tuple[Any, ...]] = [
        ("apart", more, parameter_server.parameter_server_time(*of_all, port, port), *on_separate_machines),
        (
            "apart, in blocks",
            more,
            parameter_server.pipelined_parameter_server_time(*of_all, port, port),
            *on_separate_machines,
        ),
        (
            hosts,
            workers,
            parameter_server.colocated_parameter_server_time(workers, shared_hosts, message_bytes, hop, port),
            *on_workers,
        ),
        (f"{hosts}, in blocks", workers, 2 * hop + through / 2 / port, *on_workers),
        ("apart and on workers", more, parameter_server.extra_server_time(*of_all, port), None, *nothing),
        ("none: a ring", workers, ring_all_reduce_time(workers, message_bytes, hop, port), around, *nothing),
    ]
    note = f"{workers} workers, {show(message_bytes, 'B')} of gradients in equal shards, nothing hidden"
    return Arrangements(tuple(Arrangement(*row) for row in rows), link.id, port, note)
