"""``perfmodel layouts``: how to share a transformer out over accelerators."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.records.options import declared
from perfmodel.interfaces.cli.economics_options import cost_option, price_options, take_economics
from perfmodel.interfaces.cli.export import export_options, exported, take_form
from perfmodel.interfaces.cli.options import catalogue_from, option_of, scenario_option, specs_option
from perfmodel.interfaces.cli.report import report_file, report_option, typed_command
from perfmodel.interfaces.cli.types import COUNT
from perfmodel.model.options.conditions import Conditions

if TYPE_CHECKING:
    from perfmodel.interfaces.api.layouts import LayoutRow, Layouts

SHOWN = 10


@click.command("layouts")
@scenario_option("workload", required=True, help="Transformer: a name, or its config.json.")
@scenario_option("world_size", name="gpus", required=True, help="Accelerators in all.")
@scenario_option("global_batch_size", required=True, help="Samples of one step over all accelerators.")
@scenario_option("node", help="Machine, e.g. dgx-h100.  [default: the usual one of --accelerator]")
@scenario_option("accelerator", help="Accelerator, e.g. h100-sxm5-80gb.  [default: that of --node]")
@scenario_option("inter_link", help="Link between machines.  [default: that of the machine]")
@scenario_option("nics", help="Network adapters of each machine.  [default: the machine's]")
@scenario_option("connections", help="TCP connections between two nodes.  [default: NCCL's 16]")
@scenario_option("network_cap")
@scenario_option("sequence_length", help="Tokens of a sample.  [default: the network's]")
@scenario_option(
    "framework",
    default="megatron-core",
    show_default=True,
    help="NAME or NAME@YEAR: megatron-core, nemo, fsdp, torchtitan, deepspeed, maxtext, ...",
)
@click.option(
    "--precision",
    type=click.Choice(["bf16", "fp16", "fp8"]),
    default="bf16",
    show_default=True,
    help="Of matrix products.",
)
@scenario_option("lora")
@option_of(declared(Conditions)["tokens"], help="Of the whole run, e.g. 1T: also its time and cost.")
@price_options
@cost_option
@click.option("--top", type=COUNT, help="So many layouts.  [default: 10; with --json and --csv all]")
@specs_option
@report_option
@export_options
def command(specs: tuple[str, ...], top: int | None, report: str | None, **options: Any) -> None:
    """Every layout of a transformer on so many accelerators that fits, the fastest first.

    \b
    Examples:
      perfmodel layouts --workload llama-3-70b --node dgx-h100 --gpus 512 --global-batch-size 1024
      perfmodel layouts --workload gpt3-175b --node dgx-a100-80gb --gpus 1024 --global-batch-size 1536
      perfmodel layouts --workload mixtral-8x7b --node dgx-h100 --gpus 64 --global-batch-size 256 --top 3
      perfmodel layouts --workload gpt2 --node dgx-h100 --gpus 8 --global-batch-size 64 --report page.html
      perfmodel layouts --workload llama-3-8b --node dgx-h100 --gpus 64 --global-batch-size 256 --tokens 1T

    A layout: tp tensor, pp pipeline, v chunks of layers on each stage, cp context, ep expert and dp data
    parallelism; how replicas share states; what is computed again.  What is known of its error is that of
    measured runs: see perfmodel validate --kind transformers.
    """
    from perfmodel.interfaces.api.layouts import layouts

    form, page, catalogue = take_form(options), report_file(report), catalogue_from(specs)
    money = take_economics(options)
    conditions = None if money is None else Conditions(**money)
    options["network_cap"] = options["network_cap"] is not False
    some = None if form is None else top or (None if form in ("json", "csv") else SHOWN)
    every = None if page is not None else some
    answer = layouts(
        options.pop("workload"), top=every, conditions=conditions, catalogue=catalogue, **options
    )
    if page is not None:
        from perfmodel.interfaces.reports.page import write_page
        from perfmodel.interfaces.reports.shared_out import page_of_layouts

        write_page(page, page_of_layouts(answer, typed_command(), catalogue, top or SHOWN, conditions))
        answer = replace(answer, rows=answer.rows[:some])
    if not exported(answer, form):
        _show(answer, top or SHOWN)


def _show(answer: Layouts, top: int) -> None:
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console, table
    from perfmodel.interfaces.reports.figures import ruled_out_lines, run_of_layouts
    from perfmodel.model.prediction.memory_odds import short_verdict
    from perfmodel.model.prediction.result import sureness
    from perfmodel.model.transformers.flops import NOMINAL_WORDS
    from perfmodel.model.transformers.grid import TOO_LARGE

    out = console()
    out.print(Text(f"{answer.workload} on {answer.machine}", style="bold"))
    shown = table("layout", "micro", "iteration", "MFU", "memory", "fits", "bubble", "exposed")
    shown.padding = (0, 1, 0, 0)
    rows = answer.distinct()[:top]
    for row, _ in rows:
        shown.add_row(
            row.words,
            f"{row.layout['micro_batch_size']} x {row.layout['accumulation_steps']}",
            show(row.iteration_time, "s"),
            f"{row.mfu:.1%}",
            _gib(row.memory["bytes"]),
            short_verdict(row.memory["fits_probability"]),
            f"{row.bubble_fraction:.1%}",
            f"{_exposed(row):.1%}",
        )
    out.print(shown)
    best = answer.rows[0]
    low, high = (show(best.interval[end], "s") for end in ("low_80", "high_80"))
    out.print(Text(f"the first: {low} to {high} with 80 % confidence"))
    others = [row.slower_than_first for row, _ in rows[1:] if row.slower_than_first is not None]
    if others:
        last = f", than the last here {sureness(others[-1])}" if len(others) > 1 else ""
        out.print(Text(f"the first is faster than the second: {sureness(others[0])}{last}"))
    if (line := run_of_layouts(answer)) is not None:
        out.print(Text(f"by the first, {line}"))
    for reason in answer.wider_because:
        out.print(Text(f"wider because {reason}"))
    for note in answer.notes:
        out.print(Text(f"note: {note}"))
    for caveat in best.caveats:
        out.print(Text(f"note: of the first, {caveat}"))
    out.print(Text("micro: samples of a pass x passes of a step; exposed: share of waiting for messages"))
    nominal = f"the first has {best.mfu_nominal:.1%} {NOMINAL_WORDS}"
    out.print(Text(f"MFU counts what is computed, without masked scores; {nominal}"))
    fitting = f"{answer.fitting} of {answer.candidates} layouts fit into {_gib(answer.capacity)} each"
    out.print(Text(f"{fitting}; fits: yes, or with what probability"))
    if folded := sum(more for _, more in rows):
        out.print(Text(f"{folded} more take as long as one of these, and no less memory (--json)"))
    for line in ruled_out_lines(answer.ruled_out):
        out.print(Text(line))
    untried = {reason: count for reason, count in answer.rejected.items() if reason != TOO_LARGE}
    if untried:
        out.print(Text("degrees not tried:"))
    for reason, count in untried.items():
        out.print(Text(f"  {count:>6}  {reason}"))
    if best.flags:
        out.print(Text("the first starts with:"))
        for flag in best.flags:
            out.print(Text(f"  {flag}"))
    if answer.economics is not None:
        from perfmodel.interfaces.cli.economics_options import show_economics

        show_economics(answer.economics)


def _gib(count: float) -> str:
    return f"{count / 2**30:.1f} GiB"


def _exposed(row: LayoutRow) -> float:
    """Share of the step that ranks wait for messages."""
    from perfmodel.model.step.terms import sent

    return float(sent(row.terms) / row.iteration_time)
