"""``perfmodel.compression``: whether compressing gradients pays on named hardware."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from perfmodel.arguments import COUNT, NUMBER, TEXT, expect
from perfmodel.errors import InputError
from perfmodel.prediction.compressed_exchange import CompressedExchanges, compressed_exchanges
from perfmodel.specs.compression import KINDS, parse_scheme
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.units import parse

if TYPE_CHECKING:
    from perfmodel.specs.choices import Placement

SMALLEST: Final = 4096.0
LARGEST: Final = 1e13
"""Of a gradient [B]."""
MOST_SCHEMES: Final = 1000


def compression(
    scheme: str | Sequence[str] = "all",
    *,
    workload: str = "resnet50",
    gpus: int = 8,
    size: float | str | None = None,
    accelerator: str | None = None,
    node: str | None = None,
    accelerators_per_node: int | None = None,
    intra_link: str | None = None,
    inter_link: str | None = None,
    nics: int | None = None,
    rack_nodes: int | None = None,
    oversubscription: float | None = None,
    placement: Placement | None = None,
    framework: str | None = None,
    catalogue: Catalogue | None = None,
) -> CompressedExchanges:
    """Return what compressing gradients takes and saves: bytes, coding, collective, break-even bandwidth.

    Parameters
    ----------
    scheme : ``fp16``, ``topk:0.01``, ``randomk:0.01``, ``qsgd:4bit``, ``signsgd``, ``terngrad``,
        ``powersgd:4``, ``onebit``, several of them, or ``all``
    workload : network whose gradients are exchanged
    gpus : that exchange them, at least 2
    size : of a gradient in place of the network's, in fp32: a number [B] or a text such as ``"100MB"``
    accelerator, node, accelerators_per_node, intra_link, inter_link, nics : as of ``predict``
    rack_nodes, oversubscription, placement : as of ``predict``
    framework : whose launches coding takes; by default as of ``predict``
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name or scheme, a number out of range

    Examples
    --------
    The largest hundredth with their places, everybody's gathered: what a port carries grows with the ranks.

    >>> row = compression("topk:0.01", gpus=16).rows[0]
    >>> row.collective, round(row.ratio), row.break_even_density
    ('all-gather', 50, 0.0625)
    """
    expect(TEXT, workload=workload)
    expect(COUNT, gpus=gpus)
    expect(COUNT.or_none, accelerators_per_node=accelerators_per_node, nics=nics, rack_nodes=rack_nodes)
    expect(NUMBER.or_none, oversubscription=oversubscription)
    given = {
        "accelerator": accelerator,
        "node": node,
        "intra_link": intra_link,
        "inter_link": inter_link,
        "placement": placement,
        "framework": framework,
    }
    expect(TEXT.or_none, **given)
    if gpus < 2:
        raise InputError(f"gpus = {gpus}: nothing is exchanged; expected at least 2")
    names: list[object] = [scheme] if isinstance(scheme, str) else _listed(scheme)
    every = [str(name) for name in KINDS] if names == ["all"] else names
    for name in every:
        expect(TEXT, scheme=name)
    options: dict[str, Any] = given | {
        "workload": workload,
        "world_size": int(gpus),
        "accelerators_per_node": accelerators_per_node,
        "nics": nics,
        "rack_nodes": rack_nodes,
        "oversubscription": oversubscription,
    }
    return compressed_exchanges(
        [parse_scheme(str(name)) for name in every],
        Scenario(**{name: value for name, value in options.items() if value is not None}),
        Catalogue.of(catalogue),
        None if size is None else _bytes(size),
    )


def _listed(schemes: object) -> list[object]:
    if not isinstance(schemes, Sequence) or not schemes or len(schemes) > MOST_SCHEMES:
        raise InputError(f"scheme = {schemes!r:.60}: expected a name such as 'topk:0.01', or a list of them")
    return list(schemes)


def _bytes(size: object) -> float:
    known = isinstance(size, (str, int, float)) and not isinstance(size, bool)
    number = parse(size, "B") if known else 0.0  # type: ignore[arg-type]
    if not SMALLEST <= number <= LARGEST:
        raise InputError(f"size = {size!r:.60}: expected 4 kB to 10 TB, e.g. '100MB'")
    return number
