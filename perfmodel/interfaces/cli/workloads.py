"""``perfmodel workloads``: the networks and their layer tables."""

from __future__ import annotations

import csv
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from perfmodel.interfaces.cli.export import export_options, show_rows, take_form
from perfmodel.interfaces.cli.options import scenario_option

if TYPE_CHECKING:
    from perfmodel.workloads.architecture import Architecture
    from perfmodel.workloads.workload import Layer, Workload

DIGITS = "#.4g"
"""Form of counts in a list."""

VARIANT = 21
"""Columns of a variant in a list, the last of 80."""


@click.group("workloads")
def command() -> None:
    """Networks: list them, show their layers, list how they are trained.

    Example: perfmodel workloads show resnet50
    """


@command.command("list")
@click.argument("word", required=False)
@export_options
def list_(word: str | None, **options: Any) -> None:
    """List the built-in networks, or those whose name has WORD in it.

    MACs are the multiply-adds of the forward pass of one sample, of so many tokens where it has any.

    Example: perfmodel workloads list llama-3
    """
    from perfmodel.workloads import workload
    from perfmodel.workloads.listing import listed, summary_of

    form = take_form(options)
    chosen = listed(word)
    rows = (summary_of(workload(name)) for members in chosen.values() for name in members)
    if form == "json":
        click.echo(json.dumps(list(rows)))
    elif form is not None:
        show_rows(rows, form)
    else:
        _print_groups({heading: map(workload, members) for heading, members in chosen.items() if members})


def _print_groups(listed: Mapping[str, Iterable[Workload]]) -> None:
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    shown = table("workload", "parameters", "tokens", "MACs", "variant")
    rows = {heading: [_listed(network) for network in networks] for heading, networks in listed.items()}
    for index, column in enumerate(shown.columns):
        column.no_wrap = True  # a wrapped name cannot be copied
        if index < len(shown.columns) - 1:
            cells = [row[index] for group in rows.values() for row in group]
            column.min_width = max(map(len, [str(column.header), *cells]))
    shown.columns[-1].justify = "left"
    for heading, group in rows.items():
        shown.add_section()
        shown.add_row(Text(heading, style="bold"))
        for row in group:
            shown.add_row(*row)
    console().print(shown)


def _listed(network: Workload) -> tuple[str, ...]:
    return (
        network.id,
        _short(network.parameters, DIGITS),
        f"{network.sequence_length:,}" if network.sequence_length else "",
        _short(network.forward_flops / 2, DIGITS),
        textwrap.shorten(re.split("[:;,]", network.variant)[0], VARIANT, placeholder=" ..."),
    )


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
    from perfmodel.workloads.listing import layers_of, table_of

    form = take_form(options)
    network = workload(name, sequence_length)
    if form == "json":
        click.echo(json.dumps(table_of(network)))
    elif form == "markdown":
        show_rows(layers_of(network), form)
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, network.layers[0]._fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_cells(layer) for layer in network.layers)
    else:
        _print(network)


@command.command("recipes")
@click.argument("word", required=False)
@export_options
def recipes(word: str | None, **options: Any) -> None:
    """List how networks are trained: recipes of --recipe, with what was published at which batch.

    WORD leaves those of one network, or of one recipe.  A recipe goes with a framework unless another is
    asked for; at batches outside those it holds for, an answer says so.

    Example: perfmodel workloads recipes bert-large
    """
    from perfmodel.evidence.recipe_rows import recipe_rows

    form, rows = take_form(options), recipe_rows(word)
    if form == "json":
        click.echo(json.dumps(rows))
    elif form is not None:
        show_rows(rows, form)
    else:
        _print_recipes(rows)


def _print_recipes(rows: list[dict[str, Any]]) -> None:
    """Print a paragraph for each recipe: networks, software and range, then a line for each batch."""
    from rich.text import Text

    from perfmodel.core.units import many
    from perfmodel.interfaces.cli.render import console

    out = console()
    by_recipe: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in rows:
        by_recipe.setdefault((row["recipe"], row["target"]), {}).setdefault(row["workload"], []).append(row)
    for (name, target), networks in by_recipe.items():
        first = next(iter(networks.values()))[0]
        out.print(Text(f"{name}: {target}"), style="bold")
        goes_with = [f"--{key} {first[key]}" for key in ("framework", "optimizer") if first[key]]
        if goes_with:
            out.print(Text(f"  goes with {', '.join(goes_with)}"))
        if first["unit"] == "tokens":
            lines = [(network, row) for network, some in networks.items() for row in some]
        else:
            out.print(Text(f"  of {', '.join(networks)}"))
            low, high = first["smallest_batch_size"], first["largest_batch_size"]
            range_ = f"of {low:,.0f}" if low == high else f"from {low:,.0f} to {high:,.0f}"
            out.print(Text(f"  holds for batches {range_} {first['batch_unit']}"))
            lines = [("", row) for row in next(iter(networks.values()))]
        for network, row in lines:
            amount = f"{row['amount']:.3g}" if row["unit"] == "epochs" else many(row["amount"])
            batch = many(row["batch_size"]) if row["unit"] == "tokens" else f"{row['batch_size']:,.0f}"
            of = f"{network}: " if network else ""
            out.print(
                Text(f"  {of}{amount} {row['unit']} at {batch} {row['batch_unit']} a step: {row['quality']}")
            )
        for source in dict.fromkeys(row["source"] for some in networks.values() for row in some):
            out.print(Text(f"  [{source}]"))


def _cells(layer: Layer) -> dict[str, object]:
    tensors, kernel_size = " ".join(map(str, layer.tensors)), "x".join(map(str, layer.kernel_size))
    return {**layer._asdict(), "tensors": tensors, "kernel_size": kernel_size}


def _short(count: float, form: str = ".3f") -> str:
    """Return a count with its prefix."""
    for prefix, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if count >= size:
            return f"{count / size:{form}}".rstrip(".") + f" {prefix}"
    return f"{count:.0f}"


def _widths(architecture: Architecture) -> str:
    """Return the widths and counts of a transformer in words."""
    a = architecture
    shared = f" and {a.kv_heads} key-value heads" if a.kv_heads < a.heads and not a.kv_rank else ""
    words = [
        f"{a.encoder_layers} + {a.layers} layers" if a.encoder_layers else f"{a.layers} layers",
        f"{a.hidden} wide",
        f"{a.heads} heads{shared} of {a.head_size}",
    ]
    gated = ", gated" if a.gated else ""
    if a.feed_forward:
        words.append(f"feed-forward {a.feed_forward}{gated}")
    if a.experts:
        shares = f", {a.shared_experts} shared" if a.shared_experts else ""
        words.append(f"{a.top_k} of {a.experts} experts{shares} of {a.expert_feed_forward}{gated}")
    words.append(f"{a.vocabulary} {'classes' if a.patch_elements else 'words'}")
    return "; ".join(words)


def _print(network: Workload) -> None:
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table
    from perfmodel.workloads.listing import active_parameters

    out = console()
    out.print(Text(f"{network.name}  ({network.id})"), style="bold")
    if network.variant:
        out.print(Text(network.variant))
    if network.architecture is not None:
        out.print(Text(_widths(network.architecture)))
    active = active_parameters(network)
    routed = f", {active:,} of them active" if active < network.parameters else ""
    length = f", {network.sequence_length} tokens" if network.sequence_length else ""
    out.print(
        Text(
            f"{network.parameters:,} parameters{routed}; one {network.sample}{length}: "
            f"{_short(network.forward_flops / 2)}MAC forward, {_short(network.training_flops)}FLOP to train"
        )
    )
    for note in network.notes:
        out.print(Text(f"note: {note}"))
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
