"""``specs``: the catalogue of hardware and software, with the source of each number."""

from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import same_as
from perfmodel.core.units import per_cent, show
from perfmodel.hardware.catalogue.kinds import CLASSES, Kind
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import JSON

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.kinds import AnySpec, SpecList

_CALLED = {"gpu": "accelerators", "gpus": "accelerators", "accelerator": "accelerators"} | {
    "node": "nodes",
    "machines": "nodes",
    "link": "links",
    "networks": "links",
    "framework": "software",
    "frameworks": "software",
}


class SpecsRequest(Described):
    """Hardware or software to list or to show.

    Parameters
    ----------
    kind : Part of the catalogue to list.
    name : One accelerator, node, link or software to show instead; with kind, of that part alone.
    """

    kind: Annotated[Kind, OptionInfo(synonyms=_CALLED)] = "accelerators"
    name: str | None = None


class _List(Described):
    """The request of ``specs list``."""

    kind: Kind = same_as(SpecsRequest)

    def request(self) -> SpecsRequest:
        """Return the request."""
        return SpecsRequest.model_construct(kind=self.kind)


class _Show(Described):
    """The request of ``specs show``.

    Parameters
    ----------
    name : One accelerator, node, link or software.
    """

    name: str

    def request(self) -> SpecsRequest:
        """Return the request."""
        return SpecsRequest.model_construct(name=self.name)


def run(request: SpecsRequest, context: Context) -> "AnySpec | SpecList":
    """Return a part of the catalogue, or one entry by its name, with the source of each number.

    Raises
    ------
    InputError : an unknown kind or name

    Examples
    --------
    >>> from perfmodel import specs
    >>> specs(name="dgx-1v").accelerators
    8
    >>> "ethernet-25g-tcp" in {link.id for link in specs("links")}
    True
    """
    from perfmodel.hardware.catalogue.kinds import SpecList

    catalogue = context.catalogue
    if request.name is not None:
        if "kind" in request.model_fields_set:
            return catalogue.spec(request.kind, request.name)
        return catalogue.find(request.name)[1]
    return SpecList(catalogue.spec(request.kind, id) for id in catalogue.ids(request.kind))


def text(answer: "AnySpec | SpecList", request: SpecsRequest, context: Context) -> None:
    """Print a row for each entry, or every number of one with its basis and source."""
    from perfmodel.interfaces.cli.render import console, table

    if not isinstance(answer, list):
        _print(answer, request.name or "", context)
        return
    columns, row = _ROWS[request.kind]
    shown = table(*columns, left=4 if request.kind in ("nodes", "software") else 1)
    shown.columns[0].no_wrap = True  # a wrapped name cannot be copied
    for spec in answer:
        shown.add_row(*row(spec))
    console().print(shown)


def _print(spec: "AnySpec", name: str, context: Context) -> None:
    """Print one entry: its facts, and every number with basis and source."""
    from rich.text import Text

    from perfmodel.hardware.numbers import number_rows
    from perfmodel.interfaces.cli.render import console, table

    kind = next(kind for kind, cls in CLASSES.items() if isinstance(spec, cls))
    out = console()
    out.print(Text(f"{spec.name}  ({kind.removesuffix('s')} {spec.id})"), style="bold")
    if others := context.catalogue.others(kind, name):
        out.print(Text(f"{name} is the name of a family; also {', '.join(others)}"))
    for field, value in vars(spec).items():
        if isinstance(value, (str, int)) and value and field not in ("id", "name"):
            out.print(Text(f"{field.replace('_', ' ')}: {value}"))
    shown = table("number", "value", "basis", "source", left=4)
    for field, stated in spec.statements():
        for label, value in number_rows(field, stated):
            shown.add_row(label, value, stated.basis, stated.source or "")
    out.print(shown)
    for key, source in spec.sources.items():
        out.print(Text(f"[{key}] {source.title} {source.url or ''} (read {source.read_on})"))


def _accelerator_row(spec: Any) -> tuple[str, ...]:
    """Return an accelerator as a row of the list."""
    peaks = spec.peak_flops
    best = max((peaks[key].value for key in ("fp16", "bf16") if key in peaks), default=None)
    return (
        spec.id,
        str(spec.year),
        show(peaks["fp32"].value, "FLOP/s") if "fp32" in peaks else "",
        show(best, "FLOP/s") if best else "",
        f"{spec.memory_bytes.value / 2**30:.0f} GiB",
        show(spec.memory_bandwidth.value, "B/s"),
    )


def _node_row(spec: Any) -> tuple[str, ...]:
    """Return a node as a row of the list."""
    network = f"{spec.nics or 1} x {spec.inter_link}" if spec.inter_link else ""
    inside = spec.intra_link or ("" if spec.accelerators == 1 else "its own")
    return spec.id, f"{spec.accelerators} x {spec.accelerator or 'any'}", inside, network


def _link_row(spec: Any) -> tuple[str, ...]:
    """Return a link as a row of the list."""
    fraction = per_cent(spec.achieved_fraction.value, 0) if spec.achieved_fraction else ""
    return spec.id, spec.scope, show(spec.bandwidth.value, "B/s"), show(spec.hop_latency.value, "s"), fraction


def _software_row(spec: Any) -> tuple[str, ...]:
    """Return software as a row of the list."""
    return spec.id, spec.based_on or "", " ".join(sorted(spec.versions)), ", ".join(spec.aliases)


_ROWS = {
    "accelerators": (("accelerator", "year", "fp32", "fp16/bf16", "memory", "bandwidth"), _accelerator_row),
    "nodes": (("node", "accelerators", "inside", "between"), _node_row),
    "links": (("link", "scope", "bandwidth", "latency", "achieved"), _link_row),
    "software": (("software", "based on", "facts of", "also called"), _software_row),
}

COMMAND = Command(
    name="specs",
    summary="Show the catalogue of hardware: a list, or one entry with the source of each number.",
    request=SpecsRequest,
    answers=(
        "perfmodel.hardware.accelerator:Accelerator",
        "perfmodel.hardware.node:Node",
        "perfmodel.hardware.link:Link",
        "perfmodel.hardware.software:Software",
        "perfmodel.hardware.catalogue.kinds:SpecList",
    ),
    run=run,
    text=text,
    needs_context=True,
    lines={
        "list": {
            "summary": "List accelerators (or nodes, links, software).",
            "typed": _List,
            "arguments": ("kind",),
            "examples": ("perfmodel specs list links",),
        },
        "show": {
            "summary": "Show one accelerator, node, link or software: every number or fact with its basis "
            "and source.",
            "typed": _Show,
            "arguments": ("name",),
            "forms": {"json": JSON},
            "examples": ("perfmodel specs show dgx-1v",),
        },
    },
    positional=("kind",),
    examples=("perfmodel specs list links", "perfmodel specs show dgx-1v"),
    bodies={"links": {"kind": "links"}, "one machine": {"name": "dgx-1v"}},
)
