"""``perfmodel workloads``: the networks and their layer tables."""

from __future__ import annotations

import csv
import json
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.export import export_options, show_rows, take_form
from perfmodel.cli.options import scenario_option

if TYPE_CHECKING:
    from perfmodel.specs.workload import Layer, Workload

LAYER_FIELDS = (
    "name",
    "kind",
    "parameters",
    "forward_flops",
    "backward_flops",
    "forward_elements",
    "backward_elements",
    "saved_elements",
)
SUMMARY_FIELDS = (
    "id",
    "name",
    "variant",
    "source",
    "sample",
    "sequence_length",
    "parameters",
    "forward_flops",
    "training_flops",
    "dataset",
    "dataset_samples",
)


@click.group("workloads")
def command() -> None:
    """Networks: list them, show their layers.

    Example: perfmodel workloads show resnet50
    """


@command.command("list")
@export_options
def list_(**options: Any) -> None:
    """List the built-in networks.

    Example: perfmodel workloads list
    """
    from perfmodel.workloads import names, workload

    form = take_form(options)
    result = [workload(name) for name in names()]
    if form == "json":
        click.echo(json.dumps([_summary(network) for network in result]))
        return
    if form is not None:
        show_rows(map(_summary, result), form)
        return
    from perfmodel.cli.render import console, table

    shown = table("workload", "parameters", "MACs/sample", "training FLOPs", "variant")
    shown.columns[0].no_wrap = True  # a wrapped name cannot be copied
    shown.columns[-1].justify = "left"
    for network in result:
        shown.add_row(
            network.id,
            f"{network.parameters / 1e6:.2f} M",
            _short(network.forward_flops / 2),
            _short(network.training_flops),
            re.split("[:;,]", network.variant)[0],
        )
    console().print(shown)


@command.command("show")
@click.argument("name")
@scenario_option("sequence_length")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the layers as the CSV that --workload reads.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the layers as a Markdown table.")
def show(name: str, sequence_length: int | None, **options: Any) -> None:
    """Show one network, built in or from a file, layer by layer; counts are per sample.

    To describe a network of your own, start from the --csv of one that is like it.

    Example: perfmodel workloads show bert-base --sequence-length 384
    """
    from perfmodel.workloads import workload

    form = take_form(options)
    network = workload(name, sequence_length)
    rows = [{field: getattr(layer, field) for field in LAYER_FIELDS} for layer in network.layers]
    if form == "json":
        click.echo(json.dumps({**_summary(network), "layers": rows}))
    elif form == "markdown":
        show_rows(rows, form)
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, network.layers[0]._fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_cells(layer) for layer in network.layers)
    else:
        _print(network)


def _summary(network: Workload) -> dict[str, object]:
    return {field: getattr(network, field) for field in SUMMARY_FIELDS}


def _cells(layer: Layer) -> dict[str, object]:
    tensors, kernel_size = " ".join(map(str, layer.tensors)), "x".join(map(str, layer.kernel_size))
    return {**layer._asdict(), "tensors": tensors, "kernel_size": kernel_size}


def _short(count: float) -> str:
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if count >= size:
            return f"{count / size:.3f} {prefix}"
    return f"{count:.0f}"


def _print(network: Workload) -> None:
    from rich.text import Text

    from perfmodel.cli.render import console, table

    out = console()
    out.print(Text(f"{network.name}  ({network.id})"), style="bold")
    if network.variant:
        out.print(Text(network.variant))
    length = f", {network.sequence_length} tokens" if network.sequence_length else ""
    out.print(
        Text(
            f"{network.parameters:,} parameters; one {network.sample}{length}: "
            f"{_short(network.forward_flops / 2)}MAC forward, {_short(network.training_flops)}FLOP to train"
        )
    )
    shown = table("layer", "kind", "parameters", "MACs", "moved", "kept", left=2)
    for layer in network.layers:
        shown.add_row(
            layer.name,
            layer.kind,
            f"{layer.parameters:,}" if layer.parameters else "",
            _short(layer.forward_flops / 2) if layer.forward_flops else "",
            _short(layer.forward_elements),
            _short(layer.saved_elements) if layer.saved_elements else "",
        )
    out.print(shown)
    out.print(
        Text("moved, kept: elements of activations, read and written forward, kept for the backward pass")
    )
