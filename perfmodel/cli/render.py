"""Plain text for people, at 80 columns."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfmodel.prediction.bound import clipped_words
from perfmodel.prediction.result import Prediction
from perfmodel.step.memory import listed
from perfmodel.step.terms import ANY_TERM, sent
from perfmodel.units import rate, show, show_range

if TYPE_CHECKING:
    from perfmodel.api.scale import Scaling

LABEL = 22
"""Columns of a label, in front of its value."""
NOTHING = 1e-9
"""Share of an iteration that rounding leaves of a term that is not there."""
MEMORY_ROWS = 3
"""Uses of memory in a summary, the largest; JSON has them all."""


class _Output(Console):
    """Standard output."""

    def on_broken_pipe(self) -> None:
        """Let the command handle a closed pipe; rich would exit with 1."""
        raise BrokenPipeError


def console() -> Console:
    """Standard output; 80 columns where it is not a terminal."""
    plain = _Output(highlight=False)
    return plain if plain.is_terminal else _Output(highlight=False, width=80)


def table(*columns: str, left: int = 1) -> Table:
    """An empty table whose first ``left`` columns are text and the rest numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for index, name in enumerate(columns):
        made.add_column(name, justify="left" if index < left else "right", overflow="fold")
    return made


def show_prediction(prediction: Prediction, reached: dict[str, Any] | None = None) -> None:
    """Print one prediction, with the time to a target where it was asked for."""
    out = console()
    out.print(Text(prediction.headline), style="bold")
    out.print(Text(f"{prediction.placement}; {_network(prediction)}"))
    rows = table("iteration", "time", "share")
    for name, time in prediction.terms.items():
        busy = prediction.layout is None and ANY_TERM[name].kind == "busy"
        if time > (0 if busy else NOTHING * prediction.iteration_time):
            rows.add_row(ANY_TERM[name].label, show(time, "s"), f"{time / prediction.iteration_time:.1%}")
    rows.add_section()
    rows.add_row("iteration time", show(prediction.iteration_time, "s"), _mode(prediction))
    out.print(rows)
    if prediction.traffic and (prediction.layout is not None or len(prediction.traffic) > 1):
        out.print(_traffic(prediction))
    for label, value in [*interval_lines(prediction), *figures(prediction), *target_lines(reached)]:
        out.print(Text(filled(value, out.width, f"{label:<{LABEL}}")))
    out.print()
    out.print(Text(prediction.verdict))
    if prediction.defaults:
        out.print(Text("defaults taken: " + ", ".join(prediction.defaults)))
    for warning in prediction.warnings:
        out.print(Text(f"note: {warning}"))


def _traffic(prediction: Prediction) -> Table:
    """What each group of ranks sends."""
    rows = table("what travels", "ranks", "messages", "each", "alone", "shows", left=1)
    for row in prediction.traffic:
        name = f"{row.group}: {row.collective}"
        times = show(row.time, "s"), show(row.exposed_time, "s")
        rows.add_row(name, str(row.ranks), _count(row.messages), _decimal(row.message_bytes), *times)
    return rows


def _count(messages: float) -> str:
    """Return a number of messages, of few also what is less than one."""
    return f"{messages:.3g}" if messages < 10 else f"{messages:,.0f}"


def _decimal(amount: float) -> str:
    """Return bytes in one kind of unit for a whole column, powers of ten as of links."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= size:
            return f"{amount / size:.3g} {unit}"
    return f"{amount:.3g} B"


def filled(text: str, width: int, start: str = "") -> str:
    """Return text wrapped to ``width`` characters, behind a label and indented as far."""
    return textwrap.fill(
        text,
        width,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
        break_long_words=False,
    )


def interval_lines(prediction: Prediction) -> list[tuple[str, str]]:
    """Where the time lies, and what makes that wider than usual, by label."""
    result = prediction.interval
    if result is None:
        return []
    lines = [
        ("80 % interval", f"{show(result.low_80, 's')} to {show(result.high_80, 's')}"),
        ("95 % interval", f"{show(result.low_95, 's')} to {show(result.high_95, 's')}"),
    ]
    if result.clipped_at is not None:
        lines.append(("cut at", clipped_words(result.clipped_at)))
    return lines + [("" if i else "wider because", why) for i, why in enumerate(result.wider_because)]


def target_lines(reached: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Return how long training to a target takes and by which recipe, by label."""
    if reached is None:
        return []
    amount = f"{reached['amount']:,.0f} {reached['unit']}"
    first = show(reached["time"], "s")
    if amount not in reached["recipe_words"]:
        first += f" for {amount}"
    if not reached["within_range"]:
        low, high = reached["batch_sizes"]
        first += f", at a batch outside the published {low:,.0f} to {high:,.0f}"
    lines = [first, f"{reached['recipe_words']} (--recipe)"]
    for phase in reached["phases"]:
        of = f"{phase['amount']:,.0f} samples of {phase['sequence_length']} tokens"
        lines.append(f"{show(phase['time'], 's')} for {of}")
    if reached["note"]:
        lines.append(reached["note"])
    if rate := reached["learning_rate"]:
        beyond = "" if rate["within_published"] else "; beyond the batches the rule was shown for"
        lines.append(
            f"learning rate {rate['learning_rate']:.4g} by the {rate['rule']} rule, after "
            f"{rate['warm_up_epochs']:g} epochs of warm-up from {rate['warm_up_from']:g}{beyond}"
        )
    return [("" if i else "time to target", line) for i, line in enumerate(lines)]


def _network(prediction: Prediction) -> str:
    asked = prediction.scenario
    between = f"{asked['nics']} x {asked['inter_link']}"
    if asked["world_size"] == 1:
        return f"{between} to the servers" if asked["servers"] else "no communication"
    if asked["accelerators_per_node"] == 1:
        return f"{between} between"
    inside = f"{asked['intra_link']} inside"
    if (asked["nodes"] == 1 and not asked["servers"]) or asked["inter_link"] is None:
        return inside
    return f"{inside}, {between} between"


def _mode(prediction: Prediction) -> str:
    return "from specs" if prediction.mode == "specs" else prediction.mode


def figures(prediction: Prediction) -> list[tuple[str, str]]:
    """Return label and value of everything else in a prediction."""
    memory = prediction.memory
    unit = f"{prediction.sample}s"
    report = [("throughput", f"{rate(prediction.samples_per_second)} {unit}/s")]
    report += update_lines(prediction)
    if prediction.tokens_per_second:
        report.append(("", f"{rate(prediction.tokens_per_second)} tokens/s"))
    if prediction.scenario["world_size"] > 1:
        against = "1 accelerator" if prediction.layout is None else "1 replica"
        kind, exposed = prediction.scaling, show(sent(prediction.terms), "s")
        report += [
            ("speed-up", f"{prediction.speedup:.2f}"),
            (
                "scaling efficiency",
                f"{prediction.scaling_efficiency:.1%} ({kind} scaling, against {against})",
            ),
            (
                "communication",
                f"{show(prediction.communication_time, 's')}, {exposed} of it not hidden behind computation",
            ),
        ]
    if prediction.epoch_time:
        first = prediction.epoch_start_time
        before = f", {show(first, 's')} more before its first batch" if first else ""
        report.append(("epoch", show(prediction.epoch_time, "s") + before))
    if prediction.startup_time is not None:
        report.append(("start-up", start_up_line(prediction.startup)))
    counted = "" if prediction.layout is None else ", masked scores counted"
    report.append(
        ("utilisation (MFU)", f"{prediction.mfu:.1%} of the {prediction.scenario['precision']} peak{counted}")
    )
    if prediction.hfu is not None and prediction.hfu > prediction.mfu:
        report.append(("", f"{prediction.hfu:.1%} with what is computed again (HFU)"))
    if prediction.bubble_fraction:
        report.append(("pipeline", f"stages wait {prediction.bubble_fraction:.1%} of the iteration"))
    what = "batch" if prediction.layout is None else "a micro-batch of"
    fits = f"fits up to {what} {memory.largest_local_batch_size}" if memory.fits else "DOES NOT FIT"
    whose = "per accelerator"
    if memory.devices:
        _, others = memory.devices
        whose = f"on GPU 0, {others.bytes / 2**30:.1f} on each of the others"
    report.append(
        ("memory", f"{memory.bytes / 2**30:.1f} of {memory.capacity / 2**30:.1f} GiB {whose}; {fits}")
    )
    if uses := listed(memory.rows):
        report.append(("", ", ".join(f"{label} {size / 2**30:.1f}" for label, size in uses[:MEMORY_ROWS])))
    return report


def start_up_line(parts: dict[str, float]) -> str:
    """Return what a job takes before its first iteration, with what each part stands on."""
    from perfmodel.prediction.start_up import BASIS

    listed = (f"{name} {show(time, 's')} ({BASIS[name]})" for name, time in parts.items() if time)
    return f"{show(sum(parts.values()), 's')}: {', '.join(listed)}"


def update_lines(prediction: Prediction) -> list[tuple[str, str]]:
    """Return how often parameters are updated, and by how old gradients, by label."""
    if prediction.updates_per_second is None or prediction.update_bounds is None:
        return []
    bounds, gradients = prediction.update_bounds, prediction.gradients_per_update
    each = "1 gradient" if gradients == 1 else f"{gradients} gradients"
    line = f"{rate(prediction.updates_per_second)}/s, of {each} each"
    low, high = rate(bounds.low), rate(bounds.high)
    if bounds.status != "exact" and low != high:
        line += f"; between {low} and {high}"
    fresh = prediction.fresh_fraction
    known = "" if fresh is None else f"; {fresh:.1%} of gradients fresh"
    return [("updates", line), ("staleness", f"{prediction.mean_staleness:.2f} updates on average{known}")]


def show_scaling(scaling: Scaling) -> None:
    """Print a scaling table, with notes under it."""
    out = console()
    last = scaling.predictions[-1]
    asked = last.scenario
    out.print(
        Text(
            f"{asked['workload']} on {asked['accelerator']}, {asked['precision']}, {asked['strategy']}, "
            f"{last.scaling} scaling"
        ),
        style="bold",
    )
    shown = table(
        "GPUs", "iteration", "80 % interval", "samples/s", "speed-up", "efficiency", "exposed", "fits", left=0
    )
    shown.padding = (0, 1, 0, 0)
    for row in scaling.rows:
        shown.add_row(
            str(row.world_size),
            show(row.iteration_time, "s"),
            show_range(row.interval.low_80, row.interval.high_80, "s") if row.interval else "-",
            rate(row.samples_per_second),
            f"{row.speedup:.2f}",
            f"{row.scaling_efficiency:.1%}",
            show(row.exposed_communication_time, "s"),
            "yes" if row.fits else "NO",
        )
    out.print(shown)
    for note in scaling.notes:
        out.print(Text(note))
    at = f"at {asked['world_size']} GPUs " if len(scaling.rows) > 1 else ""
    out.print(Text(at + last.verdict))
    out.print(Text("defaults taken: " + ", ".join(last.defaults)))
    for warning in last.warnings:
        out.print(Text(f"note: {warning}"))
