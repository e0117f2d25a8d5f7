"""``perfmodel.collective``: one collective on its own, of one message size or of several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, overload

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import Record, Table, aligned, flat
from perfmodel.core.records.arguments import COUNT, FLAG, NUMBER, TEXT, expect
from perfmodel.core.records.names import word_of
from perfmodel.core.units import parse, show
from perfmodel.equations.algorithms import ALGORITHMS, SYNONYMS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.model.prediction.collectives.collective import collective as predicted
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of

if TYPE_CHECKING:
    from perfmodel.core.choices import Placement
    from perfmodel.hardware.catalogue.kinds import Kind

LARGEST: Final = 1e15
"""[B]"""


@dataclass(frozen=True, repr=False)
class Collectives(Table):
    """The same collective by message size."""

    rows: tuple[Collective, ...]

    def records(self) -> list[Record]:
        """Return the rows, the runner-up in columns of its own."""
        return [flat(row.model_dump(exclude={"warnings"})) for row in self.rows]

    def to_json(self) -> str:
        """Return what ``perfmodel collective --json`` prints of several sizes: a list."""
        return json.dumps([row.model_dump() for row in self.rows])

    def __repr__(self) -> str:
        first = self.rows[0]
        rows = [
            (
                show(row.message_bytes, "B"),
                show(row.time, "s"),
                row.interval_text or "-",
                row.way,
                show(row.bus_bandwidth, "B/s"),
            )
            for row in self.rows
        ]
        return aligned(
            f"{first.collective} over {first.group_size} ranks {first.where}",
            ("size", "time", "80 % interval", "algorithm", "busbw"),
            rows,
            left=0,
        )


@overload
def collective(
    name: str = ...,
    *,
    ranks: int,
    size: float | str,
    algorithm: str = ...,
    accelerator: str | None = ...,
    node: str | None = ...,
    intra_link: str | None = ...,
    inter_link: str | None = ...,
    nodes: int | None = ...,
    nics: int | None = ...,
    connections: int | None = ...,
    network_cap: bool = ...,
    rack_nodes: int | None = ...,
    oversubscription: float | None = ...,
    placement: Placement | None = ...,
    torus_dimensions: str | None = ...,
    link: str | None = ...,
    catalogue: Catalogue | None = ...,
) -> Collective: ...
@overload
def collective(
    name: str = ...,
    *,
    ranks: int,
    size: list[float] | list[int] | list[str] | tuple[float | str, ...],
    algorithm: str = ...,
    accelerator: str | None = ...,
    node: str | None = ...,
    intra_link: str | None = ...,
    inter_link: str | None = ...,
    nodes: int | None = ...,
    nics: int | None = ...,
    connections: int | None = ...,
    network_cap: bool = ...,
    rack_nodes: int | None = ...,
    oversubscription: float | None = ...,
    placement: Placement | None = ...,
    torus_dimensions: str | None = ...,
    link: str | None = ...,
    catalogue: Catalogue | None = ...,
) -> Collectives: ...
def collective(
    name: str = "all-reduce",
    *,
    ranks: int,
    size: float | str | Sequence[float | str],
    algorithm: str = "auto",
    accelerator: str | None = None,
    node: str | None = None,
    intra_link: str | None = None,
    inter_link: str | None = None,
    nodes: int | None = None,
    nics: int | None = None,
    connections: int | None = None,
    network_cap: bool = True,
    rack_nodes: int | None = None,
    oversubscription: float | None = None,
    placement: Placement | None = None,
    torus_dimensions: str | None = None,
    link: str | None = None,
    catalogue: Catalogue | None = None,
) -> Collective | Collectives:
    """Predict one collective on its own: its time, its algorithm, and how close that is to the bound.

    Parameters
    ----------
    name : all-reduce, reduce-scatter, all-gather, broadcast, all-to-all, send-receive
    ranks : taking part
    size : buffer on one rank [B], a number or a text such as ``"100MB"``; of a list, a table with a row each
    algorithm : ``auto`` (as NCCL chooses), ``best`` (the cheapest by our formulas), or a name such as ring
    accelerator : of each rank; by default what ``node`` is sold with
    node : machine the ranks lie on, with its links and adapters; by default the accelerator's usual one
    intra_link, inter_link : inside a node and between nodes; by default those of ``node``.  One rank in each
        node needs no inner link.
    nodes : that the ranks lie on; by default as ``node`` holds them, else 1, or with ``inter_link`` as few as
        hold them evenly, up to 8 on each
    nics : network adapters of a node; by default those of ``node``, else 1
    connections : over TCP between two nodes; by default NCCL's 16
    network_cap : whether the network limit of a rented machine holds, over its own link or another
    rack_nodes, oversubscription, placement : nodes under one switch, what they could send over what leaves
        it, and how the ring lies on racks, ``contiguous`` or ``random``; by default no rack slows it
    torus_dimensions : ranks in a row x in a column, such as ``4x8``, where ``algorithm`` is ``torus``; by
        default a node is a row
    link : another word for ``intra_link``
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name, a size from none to 1 PB, ranks that do not spread evenly, no link

    Examples
    --------
    Eight ranks send 2 x 7/8 of the buffer each:

    >>> found = collective("all-reduce", ranks=8, size="100MB", link="nvlink3-nvswitch")
    >>> found.bytes_per_rank
    175000000.0
    >>> [row.algorithm for row in collective(ranks=16, size=["1KB", "1GB"], node="dgx-a100").rows]
    ['tree', 'ring']
    >>> collective(ranks=16, size="1GB", accelerator="a100-sxm4-40gb").warnings[0]
    'taken: --node dgx-a100-40gb, the usual machine of a100-sxm4-40gb'
    """
    expect(TEXT, name=name, algorithm=algorithm)
    expect(COUNT, ranks=ranks)
    expect(COUNT.or_none, nodes=nodes, nics=nics, connections=connections, rack_nodes=rack_nodes)
    expect(NUMBER.or_none, oversubscription=oversubscription)
    expect(FLAG, network_cap=network_cap)
    expect(
        TEXT.or_none,
        accelerator=accelerator,
        node=node,
        intra_link=intra_link,
        inter_link=inter_link,
        placement=placement,
        torus_dimensions=torus_dimensions,
        link=link,
    )
    if link is not None and intra_link is not None:
        raise refusal("collective.link_twice", "link", "intra_link")
    intra_link = intra_link if link is None else link
    catalogue = Catalogue.of(catalogue)
    fabric = fabric_of(
        ranks,
        catalogue,
        accelerator=accelerator,
        node=node,
        intra_link=intra_link,
        inter_link=inter_link,
        nodes=nodes,
        nics=nics,
        connections=connections,
        network_cap=network_cap,
        rack_nodes=rack_nodes,
        oversubscription=oversubscription,
        placement=placement,
        torus_dimensions=torus_dimensions,
    )
    named: tuple[tuple[Kind, str | None], ...] = (
        ("accelerators", accelerator),
        ("nodes", node),
        ("links", intra_link),
        ("links", inter_link),
    )
    notes = [note for kind, each in named if each is not None and (note := catalogue.note(kind, each))]
    notes += fabric.notes
    meant = word_of(name, ALGORITHMS, SYNONYMS)
    several = not isinstance(size, (str, int, float))
    rows = tuple(
        predicted(meant, algorithm, fabric, _bytes(one)).model_copy(update={"warnings": notes})
        for one in (size if isinstance(size, Sequence) and several else (size,))
    )
    if not rows:
        raise refusal("collective.no_size", "size")
    return Collectives(rows) if several else rows[0]


def _bytes(size: object) -> float:
    number = parse(size, "B") if isinstance(size, (str, int, float)) else 0.0
    if not 1 <= number <= LARGEST:
        raise refusal("collective.size", "size", size=size)
    return number
