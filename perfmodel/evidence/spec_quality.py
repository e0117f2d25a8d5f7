"""Check the hardware catalogue for missing, old, assumed or inconsistent numbers.

A file accepts a finding that somebody has reviewed by its code, ``accepted = ["assumed"]``: it is not
reported again.  An acceptance without a finding is reported instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Literal

from perfmodel.core.errors import InputError
from perfmodel.core.files.tables import ListAnswer
from perfmodel.core.records.names import port_speed
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.kinds import Kind as Catalogued
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.peer_graph import PeerGraph, ranks_of
from perfmodel.hardware.provenance import Quantity, SourcedSpec
from perfmodel.hardware.releases import release

SOURCE_AGE_LIMIT = 730
"""Days after which a source should be read again."""
PRICE_AGE_LIMIT = 365
"""Days after which a price should be read again."""
ABOVE_BOOST = 1.15
"""Largest ratio of a measured rate to the peak: consumer cards run above the boost clock that the peak
assumes."""
PEAK_TOLERANCE = 0.10
"""Largest relative difference between a published peak and compute units times clock times operations."""

Kind = Literal["missing", "stale", "suspicious", "assumed", "accepted"]

RATIOS: dict[tuple[str, str], tuple[float, float]] = {
    ("fp16", "fp32"): (1, 32),
    ("bf16", "fp16"): (0.99, 1.01),
    ("fp16", "tf32"): (1.9, 4.1),
    ("fp8", "fp16"): (1.9, 2.1),
    ("mxfp8", "fp8"): (0.99, 1.01),
    ("nvfp4", "mxfp8"): (1.9, 3.1),
    ("mxfp4", "mxfp8"): (1.9, 3.1),
    ("fp16-vector", "fp32"): (1 / 65, 4.1),
    ("fp64", "fp32"): (1 / 65, 1.01),
}
"""Two precisions -> plausible range of the ratio of their peaks."""
FAR = 10.0
"""Factor below the least or above the greatest number of the catalogue from which a user's number is
suspicious."""
PRICES = (0.05, 60.0)
"""Plausible range of the price of one accelerator [USD per hour]."""
NVLINK_RATES = {1: 20e9, 2: 25e9, 3: 25e9, 4: 25e9, 5: 50e9, 6: 50e9}
"""Generation of NVLink -> bandwidth of one link in one direction [B/s]."""


@dataclass(frozen=True, order=True)
class Finding:
    """One finding about one file."""

    id: str
    """The file, such as ``accelerators/k80``, or ``instances``."""
    kind: Kind
    """Type of the finding."""
    code: str
    """Code that the file's ``accepted`` lists to silence the finding."""
    message: str
    """The finding in words."""


class Findings(ListAnswer[Finding]):
    """Findings, sorted by file."""


_OF_MAGNITUDE = "magnitude of "
"""Prefix of the codes of findings for which only a user's own files are checked."""
Remark = tuple[Kind, str, str]
"""A finding before its file is known: kind, code, message."""
Examined = tuple[tuple[str, ...], list[Remark]]
"""The codes that a file accepts, and the findings on it."""


def report(catalogue: Catalogue, today: date, own: bool = False) -> list[Finding]:
    """Return the findings on a catalogue's files that the files do not accept, sorted by file.

    Parameters
    ----------
    catalogue : catalogue to check
    today : date from which the ages of sources and prices are counted
    own : check only the user's own files, and compare their numbers with those of the built-in catalogue
    """
    findings: list[Finding] = []
    examiners: dict[Catalogued, Callable[[str, Catalogue, date], Examined]] = {
        "accelerators": _accelerator,
        "links": _link,
        "nodes": _node,
        "software": _software,
    }
    for kind, examine in examiners.items():
        for id in catalogue.own_ids(kind) if own else catalogue.ids(kind):
            name = f"{kind}/{id}"
            examined = _examined(name, partial(examine, id, catalogue, today))
            findings += examined
            if own and "unreadable" not in {finding.code for finding in examined}:
                findings += _examined(name, partial(_magnitudes, kind, catalogue.spec(kind, id)))
    findings += _examined("instances", partial(_instances, catalogue, today, own))
    return sorted(findings)


def _examined(name: str, examine: Callable[[], Examined]) -> list[Finding]:
    """Return the findings of one check on a file, without accepted ones, and idle acceptances."""
    try:
        accepted, remarks = examine()
    except InputError as error:
        return [Finding(name, "suspicious", "unreadable", error.note())]
    codes = {code for _, code, _ in remarks}
    result = [Finding(name, kind, code, text) for kind, code, text in remarks if code not in accepted]
    idle = [code for code in accepted if code not in codes and not code.startswith(_OF_MAGNITUDE)]
    return result + [
        Finding(name, "accepted", code, f"accepts {code!r}, which nobody finds") for code in idle
    ]


def _magnitudes(kind: Catalogued, spec: SourcedSpec) -> Examined:
    """Compare each number of a spec with the range of that number in the built-in catalogue."""
    built_in = Catalogue.built_in()
    known: dict[str, list[float]] = {}
    for id in built_in.ids(kind):
        for key, number in built_in.spec(kind, id).statements():
            if isinstance(number, Quantity):
                known.setdefault(key, []).append(number.value)
    remarks: list[Remark] = []
    for key, number in spec.statements():
        if not isinstance(number, Quantity) or key not in known:
            continue
        low, high = min(known[key]), max(known[key])
        if not low / FAR <= number.value <= high * FAR:
            where = f"those of the catalogue's {kind} are {low:.3g} to {high:.3g}"
            code = f"{_OF_MAGNITUDE}{key}"
            if code not in spec.accepted:
                remarks.append(("suspicious", code, f"{key} = {number.value:.3g}: {where}"))
    return (), remarks


def _accelerator(id: str, catalogue: Catalogue, today: date) -> Examined:
    """Check an accelerator: its links and machine, missing numbers, and ratios of its peaks."""
    spec = catalogue.accelerator(id)
    for link in (spec.host_link, spec.peer_link, spec.bridge_link):
        if link is not None:
            catalogue.link(link)
    if spec.usual_node is not None:
        catalogue.node(spec.usual_node)
    remarks = _provenance(spec, today)
    for field in ("boost_clock", "l2_cache_bytes", "tdp"):
        if getattr(spec, field) is None:
            remarks.append(("missing", field, f"{field} is not known"))
    peaks = spec.peak_flops
    for (upper, lower), (low, high) in RATIOS.items():
        if upper in peaks and lower in peaks:
            ratio = peaks[upper].value / peaks[lower].value
            if not low <= ratio <= high:
                text = f"{upper} is {ratio:.3g} times {lower}; usual is {low:.3g} to {high:.3g}"
                remarks.append(("suspicious", f"{upper}/{lower}", text))
    remarks += _fp32_from_clock(spec)
    for name, achieved in spec.achieved_flops.items():
        if achieved.value > ABOVE_BOOST * peaks[name].value:
            remarks.append(("suspicious", f"achieved {name}", f"measured {name} is far above its peak"))
    if spec.memory_capacity > spec.memory_bytes.value:
        remarks.append(("suspicious", "usable_memory_bytes", "more memory is usable than is fitted"))
    return spec.accepted, remarks


def _fp32_from_clock(spec: Accelerator) -> list[Remark]:
    """Compare the fp32 peak with units x lanes x 2 x clock, at the published clock that fits better."""
    lanes = spec.fp32_lanes
    clocks = [clock.value for clock in (spec.base_clock, spec.boost_clock) if clock is not None]
    if lanes is None or not clocks or "fp32" not in spec.peak_flops:
        return []
    printed = spec.peak_flops["fp32"].value
    derived = min(
        (spec.compute_units * lanes * 2 * clock for clock in clocks), key=lambda x: abs(x - printed)
    )
    if abs(printed / derived - 1) <= PEAK_TOLERANCE:
        return []
    units = f"{spec.compute_units} units x {lanes} lanes x 2 x clock"
    return [("suspicious", "fp32 peak", f"{units} gives {derived:.4g} FLOP/s; the file says {printed:.4g}")]


def _link(id: str, catalogue: Catalogue, today: date) -> Examined:
    """Check a link: bandwidth against its name and number of NVLinks, and latencies."""
    spec = catalogue.link(id)
    remarks = _provenance(spec, today)
    bandwidth = spec.bandwidth.value
    rate = _nvlink_rate(spec)
    if rate is not None:
        remarks += _graph(spec.peer_graph, rate, spec)
    if rate is not None and not (bandwidth / rate).is_integer():
        remarks.append(
            ("suspicious", "link count", f"{bandwidth:.4g} B/s is no whole number of links of {rate:.3g} B/s")
        )
    named = port_speed(spec.id)
    if named is not None and abs(bandwidth * 8e-9 / named - 1) > PEAK_TOLERANCE:
        remarks.append(("suspicious", "port speed", f"{bandwidth * 8e-9:.4g} Gbit/s under a name of {named}"))
    if spec.bulk_hop_latency is not None and spec.bulk_hop_latency.value < spec.hop_latency.value:
        remarks.append(("suspicious", "bulk_hop_latency", "large messages start sooner than small ones"))
    above = [n for n, ring in spec.ring_bandwidth_by_group_size.items() if ring > bandwidth]
    if above:
        remarks.append(("suspicious", "ring_bandwidth", f"rings of {above[0]} exceed the link"))
    return spec.accepted, remarks


def _nvlink_rate(link: Link) -> float | None:
    """Return the bandwidth of one NVLink of a link's generation [B/s], None for other types of link."""
    return NVLINK_RATES.get(link.generation or 0) if link.kind == "nvlink" else None


def _graph(graph: PeerGraph, rate: float, link: Link) -> list[Remark]:
    """Check that the links of each accelerator in a graph sum to the bandwidth of its link spec.

    Parameters
    ----------
    graph : links between the accelerators of a machine
    rate : bandwidth of each [B/s]
    link : spec of an accelerator's links together
    """
    degrees = {sum(links for *pair, links in graph if rank in pair) for rank in range(ranks_of(graph))}
    if {degree * rate for degree in degrees} <= {link.bandwidth.value}:
        return []
    text = f"peer_graph gives an accelerator {sorted(degrees)} links, {link.id} another number"
    return [("suspicious", "peer_graph", text)]


def _node(id: str, catalogue: Catalogue, today: date) -> Examined:
    """Check a machine: its accelerator and links, and network bandwidth against its NICs."""
    spec = catalogue.node(id)
    remarks = _provenance(spec, today)
    if spec.accelerator is not None:
        catalogue.accelerator(spec.accelerator)
    inter, intra = (catalogue.link(id) if id else None for id in (spec.inter_link, spec.intra_link))
    if spec.host_link is not None:
        catalogue.link(spec.host_link)
    sockets = catalogue.link(spec.socket_link) if spec.socket_link else None
    for field, link, scope in (
        ("inter_link", inter, "inter"),
        ("intra_link", intra, "intra"),
        ("socket_link", sockets, "socket"),
    ):
        if link is not None and link.scope != scope:
            remarks.append(("suspicious", field, f"{link.id} is a link of scope {link.scope}"))
    if inter is not None and spec.network_bandwidth is not None:
        ports = (spec.nics or 1) * inter.bandwidth.value
        ratio = spec.network_bandwidth.value / ports
        if not 0.2 <= ratio <= 1.3:
            text = f"network_bandwidth is {ratio:.3g} times {spec.nics or 1} x {inter.id}"
            remarks.append(("suspicious", "network_bandwidth", text))
    rate = _nvlink_rate(intra) if intra is not None else None
    if intra is not None and rate is not None:
        remarks += _graph(spec.peer_graph, rate, intra)
    return spec.accepted, remarks


def _software(id: str, catalogue: Catalogue, today: date) -> Examined:
    """Check a software: that its facts can be read, and their provenance."""
    spec = catalogue.software(id)
    release(id, catalogue)
    return spec.accepted, _provenance(spec, today)


def _instances(catalogue: Catalogue, today: date, own: bool) -> Examined:
    """Check the size and the age of the prices of instances."""
    remarks: list[Remark] = []
    not_own = Catalogue.built_in().instances() if own else ()
    for offer in catalogue.instances():
        if offer in not_own:
            continue
        node = catalogue.node(offer.node)
        for stated in offer.every_price():
            price = stated.usd_per_hour / node.accelerators
            of_kind = "" if stated.kind == "on-demand" else f" {stated.kind}"
            name = f"{offer.provider} {offer.instance}{of_kind}"
            if not PRICES[0] <= price <= PRICES[1]:
                remarks.append(("suspicious", name, f"{name} costs {price:.3g} USD per accelerator and hour"))
            age = (today - stated.price_date).days
            if age > PRICE_AGE_LIMIT:
                remarks.append(("stale", name, f"the price of {name} is {age} days old"))
    return (), remarks


def _provenance(spec: SourcedSpec, today: date) -> list[Remark]:
    """Check the sources of a spec's numbers: assumed, underived, old or unused ones."""
    remarks: list[Remark] = []
    statements = list(spec.statements())
    assumed = [key for key, number in statements if number.basis == "assumed" and not number.source]
    if assumed:
        remarks.append(("assumed", "assumed", f"assumed, and no source says so: {', '.join(assumed)}"))
    bare = [key for key, number in statements if number.basis == "derived" and not number.note]
    if bare:
        remarks.append(("assumed", "underived", f"derived, but the note does not say how: {', '.join(bare)}"))
    used = {number.source for _, number in statements}
    for key, source in spec.sources.items():
        age = (today - source.read_on).days
        if age > SOURCE_AGE_LIMIT:
            remarks.append(("stale", f"stale {key}", f"source {key} was last read {age} days ago"))
        if age < 0:
            remarks.append(("suspicious", f"future {key}", f"source {key} was read on {source.read_on}"))
        if key not in used:
            remarks.append(("suspicious", f"unused {key}", f"no number names source {key}"))
    return remarks
