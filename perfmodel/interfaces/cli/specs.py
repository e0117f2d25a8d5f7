"""``perfmodel specs``: the catalogue of hardware and software."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.units import show
from perfmodel.hardware.catalogue.kinds import KINDS
from perfmodel.interfaces.cli.export import export_options, show_rows, take_form
from perfmodel.interfaces.cli.options import catalogue_from, specs_option
from perfmodel.interfaces.cli.types import Word

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.kinds import Kind


_CALLED = {"gpu": "accelerators", "gpus": "accelerators", "accelerator": "accelerators"} | {
    "node": "nodes",
    "machines": "nodes",
    "link": "links",
    "networks": "links",
    "framework": "software",
    "frameworks": "software",
}
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("specs")
def command() -> None:
    """Hardware and software: list it, show where each number comes from, check the files.

    Example: perfmodel specs show v100-sxm2-16gb
    """


@command.command("list")
@click.argument("kind", type=Word(KINDS, _CALLED), default="accelerators")
@specs_option
@export_options
def list_(kind: Kind, specs: tuple[str, ...], **options: Any) -> None:
    """List accelerators (or nodes, links, software).

    Example: perfmodel specs list links
    """
    form = take_form(options)
    catalogue = catalogue_from(specs)
    result = [catalogue.spec(kind, id) for id in catalogue.ids(kind)]
    if form == "json":
        click.echo(json.dumps([spec.model_dump(mode="json", exclude_defaults=True) for spec in result]))
        return
    if form is not None:
        from perfmodel.hardware.numbers import numbers_of

        show_rows(map(numbers_of, result), form)
        return
    from perfmodel.interfaces.cli.render import console, table

    columns, row = _ROWS[kind]
    shown = table(*columns, left=4 if kind in ("nodes", "software") else 1)
    shown.columns[0].no_wrap = True  # a wrapped name cannot be copied
    for spec in result:
        shown.add_row(*row(spec))
    console().print(shown)


@command.command("show")
@click.argument("id", metavar="NAME")
@specs_option
@_json
def show_(id: str, specs: tuple[str, ...], as_json: bool) -> None:
    """Show one accelerator, node, link or software: every number or fact with its basis and source.

    Example: perfmodel specs show dgx-1v
    """
    catalogue = catalogue_from(specs)
    kind, spec = catalogue.find(id)
    if as_json:
        click.echo(spec.model_dump_json(exclude_defaults=True))
        return
    from rich.text import Text

    from perfmodel.hardware.numbers import number_rows
    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(f"{spec.name}  ({kind.removesuffix('s')} {spec.id})"), style="bold")
    if others := catalogue.others(kind, id):
        out.print(Text(f"{id} is the name of a family; also {', '.join(others)}"))
    for name, value in vars(spec).items():
        if isinstance(value, (str, int)) and value and name not in ("id", "name"):
            out.print(Text(f"{name.replace('_', ' ')}: {value}"))
    shown = table("number", "value", "basis", "source", left=4)
    for name, stated in spec.statements():
        for label, value in number_rows(name, stated):
            shown.add_row(label, value, stated.basis, stated.source or "")
    out.print(shown)
    for key, source in spec.sources.items():
        out.print(Text(f"[{key}] {source.title} {source.url or ''} (read {source.read_on})"))


@command.command("check")
@click.option("--all", "everything", is_flag=True, help="Also what is only missing or assumed.")
@specs_option
@export_options
def check(everything: bool, specs: tuple[str, ...], **options: Any) -> None:
    """Report what is missing, stale, suspicious or without a source; exit code 1 if anything is suspicious.

    With --specs of these files alone, everything; their numbers are held against the catalogue's too.

    Example: perfmodel specs check --all
    """
    from collections import Counter
    from datetime import date

    from perfmodel.evidence.spec_quality import report

    form = take_form(options)
    findings = report(catalogue_from(specs), date.today(), own=bool(specs))
    everything = everything or bool(specs)
    wrong = [finding for finding in findings if finding.kind in ("suspicious", "stale", "accepted")]
    if form == "json":
        click.echo(json.dumps([finding._asdict() for finding in findings]))
    elif form is not None:
        show_rows((finding._asdict() for finding in findings), form)
    else:
        for finding in findings if everything else wrong:
            click.echo(f"{finding.id}: {finding.kind}: {finding.message}")
        counts = Counter(finding.kind for finding in findings)
        listed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
        click.echo(f"found {listed}{'' if everything else '; --all lists them'}")
    if any(finding.kind == "suspicious" for finding in findings):
        raise SystemExit(1)


def _accelerator_row(spec: Any) -> tuple[str, ...]:
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
    network = f"{spec.nics or 1} x {spec.inter_link}" if spec.inter_link else ""
    inside = spec.intra_link or ("" if spec.accelerators == 1 else "its own")
    return spec.id, f"{spec.accelerators} x {spec.accelerator or 'any'}", inside, network


def _link_row(spec: Any) -> tuple[str, ...]:
    fraction = f"{spec.achieved_fraction.value:.0%}" if spec.achieved_fraction else ""
    return spec.id, spec.scope, show(spec.bandwidth.value, "B/s"), show(spec.hop_latency.value, "s"), fraction


def _software_row(spec: Any) -> tuple[str, ...]:
    return spec.id, spec.based_on or "", " ".join(sorted(spec.versions)), ", ".join(spec.aliases)


_ROWS = {
    "accelerators": (("accelerator", "year", "fp32", "fp16/bf16", "memory", "bandwidth"), _accelerator_row),
    "nodes": (("node", "accelerators", "inside", "between"), _node_row),
    "links": (("link", "scope", "bandwidth", "latency", "achieved"), _link_row),
    "software": (("software", "based on", "facts of", "also called"), _software_row),
}
