"""Answers as plain text of 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from perfmodel.core.drawing import POINT, drawn
from perfmodel.core.sentences import sentences_in, wrapped
from perfmodel.core.units import NOTHING, per_cent, rate, show, show_range, shown_part
from perfmodel.interfaces.reports.figures import figures, interval_lines, notes_of, overflows, target_lines
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.card import part_of_adapters
from perfmodel.model.prediction.memory_odds import short_verdict
from perfmodel.model.prediction.names import accelerator_name, link_name, network_name
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.step.terms import TERMS

if TYPE_CHECKING:
    from perfmodel.model.prediction.scaling import Scaling

IF_IT_FITTED = "iteration, if it fitted"
"""Heading of the terms of a job that does not fit in memory."""
LABEL = 22
"""Width of a label in front of its value, in columns."""
LONG = 400
"""Most characters of an advice that is bold as a whole: five lines."""


class _Output(Console):
    """A console that keeps a number with its unit, and lets commands handle a closed pipe."""

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Print objects, texts on as many lines as they need."""
        shown = objects if soft_wrap else [self._in_lines(each) for each in objects]
        super().print(*shown, soft_wrap=soft_wrap, **options)

    def _in_lines(self, printed: Any) -> Any:
        """Return a text with its long lines broken; anything else as it is."""
        if not isinstance(printed, Text):
            return printed
        lines, broken = printed.plain.split("\n"), printed.copy()
        broken.plain = "\n".join(
            "\n".join(wrapped(line, self.width)) if len(line) > self.width else line for line in lines
        )
        return broken

    def on_broken_pipe(self) -> None:
        """Raise a BrokenPipeError; rich would exit with 1."""
        raise BrokenPipeError


def console() -> Console:
    """Return a console for standard output, of 80 columns unless it is a terminal."""
    plain = _Output(highlight=False)
    return plain if plain.is_terminal else _Output(highlight=False, width=80)


def table(*columns: str, left: int = 1) -> Table:
    """Return an empty table whose first ``left`` columns are text and the others numbers."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for index, name in enumerate(columns):
        made.add_column(name, justify="left" if index < left else "right", overflow="fold")
    return made


def show_prediction(
    prediction: Prediction, card: Card, reached: dict[str, Any] | None = None, verbose: bool = False
) -> None:
    """Print one prediction on a screen, with its time to a target if given.

    Parameters
    ----------
    prediction, card : of the job
    reached : result of ``time_to_target``, or None
    verbose : whether to print every figure, default and note
    """
    out = console()
    if not prediction.memory.fits:
        advice_to(out, card.advice)
    out.print(Text(prediction.headline), style="bold")
    out.print(Text(f"{prediction.placement}; {_network(prediction)}"))
    out.print()
    if prediction.memory.fits:
        advice_to(out, card.advice)
    show_rows(out, card, times_of(prediction), leave_out=("machines",))
    rows = table("iteration" if prediction.memory.fits else IF_IT_FITTED, "time", "share")
    for name, time in prediction.terms.items():
        busy = prediction.layout is None and TERMS[name].kind == "busy"
        if time > (0 if busy else NOTHING * prediction.iteration_time):
            rows.add_row(TERMS[name].label, show(time, "s"), per_cent(time / prediction.iteration_time))
    rows.add_section()
    rows.add_row("iteration time", show(prediction.iteration_time, "s"), _mode(prediction))
    out.print(rows)
    if verbose and prediction.traffic and (prediction.layout is not None or len(prediction.traffic) > 1):
        out.print(_traffic(prediction))
    known = [*interval_lines(prediction), *figures(prediction)] if verbose else _in_short(prediction)
    for label, value in [*known, *target_lines(reached)]:
        lines_to(out, value, f"{label:<{LABEL}}")
    out.print()
    out.print(Text(prediction.verdict))
    defaults = prediction.defaults if verbose else _that_matter(prediction)
    if defaults:
        left = len(prediction.defaults) - len(defaults)
        more = f" and {left} more (--verbose)" if left else ""
        out.print(Text(f"defaults taken: {', '.join(defaults)}{more}"))
    for warning in notes_of(prediction):
        out.print(Text(f"note: {warning}"))


def times_of(prediction: Prediction) -> tuple[float, float, float] | None:
    """Return the least, expected and largest time of an iteration [s]; None without an interval."""
    interval = prediction.interval
    return None if interval is None else (interval.low_80, prediction.iteration_time, interval.high_80)


def show_card(out: Console, card: Card, times: tuple[float, float, float] | None = None) -> None:
    """Print an answer card, with the times of ``show_rows``."""
    advice_to(out, card.advice)
    show_rows(out, card, times)


def show_rows(
    out: Console,
    card: Card,
    times: tuple[float, float, float] | None = None,
    leave_out: Sequence[str] = (),
) -> None:
    """Print an answer card below its advice.

    Parameters
    ----------
    times : of an iteration, the least, expected and largest [s], drawn below its row; None for no drawing
    leave_out : labels of rows that the text has elsewhere
    """
    for label, value in card.rows:
        if label not in leave_out:
            lines_to(out, value, f"{label:<{LABEL}}")
        if label == "iteration" and times is not None:
            low, time, high = times
            lines_to(out, drawn((low / high, 1.0), [(time / high, POINT)]), " " * LABEL)


IN_SHORT = ("updates", "staleness", "scaling efficiency")
"""Labels of the figures that a short answer has beside the card."""


def _in_short(prediction: Prediction) -> list[tuple[str, str]]:
    """Return the few figures of a short answer, with labels."""
    return [(label, value) for label, value in figures(prediction) if label in IN_SHORT]


MATTER = (
    "--framework",
    "--precision",
    "--local-batch-size",
    "--micro-batch-size",
    "--recompute",
    "--inter-link",
)
"""Options whose defaults move the answer of most jobs, the most important first."""


def _that_matter(prediction: Prediction) -> list[str]:
    """Return up to four defaults: first those that widen the interval, then those that move most jobs."""
    wider = " ".join(prediction.interval.wider_because) if prediction.interval else ""
    wider += " --nics " * bool(part_of_adapters(prediction))
    return that_matter(prediction.defaults, lambda name: f"{name} " in wider)


def that_matter(defaults: Sequence[str], first: Callable[[str], bool], most: int = 4) -> list[str]:
    """Return up to ``most`` defaults: those whose option comes first, then those that move most jobs."""

    def rank(default: str) -> tuple[bool, int]:
        name = default.split()[0]
        return not first(name), MATTER.index(name) if name in MATTER else len(MATTER)

    return sorted(defaults, key=rank)[:most]


def _traffic(prediction: Prediction) -> Table:
    """Return a table of the traffic of each group of ranks."""
    rows = table("what travels", "ranks", "messages", "each", "in all", "shows", left=1)
    for row in prediction.traffic:
        name = f"{row.group}: {row.collective}"
        times = show(row.time, "s"), shown_part(row.exposed_time, prediction.iteration_time)
        rows.add_row(name, str(row.ranks), _count(row.messages), _decimal(row.message_bytes), *times)
    return rows


def _count(messages: float) -> str:
    """Return a number of messages as text, of few with decimals."""
    return f"{messages:.3g}" if messages < 10 else f"{messages:,.0f}"


def _decimal(amount: float) -> str:
    """Return a number of bytes as text, with decimal prefixes as for links."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= size:
            return f"{amount / size:.3g} {unit}"
    return f"{amount:.3g} B"


def filled(text: str, width: int, start: str = "") -> str:
    """Return text wrapped to ``width`` characters behind a label, with later lines indented to match."""
    return "\n".join(wrapped(text, width, start, " " * len(start)))


def command_to(out: Console, line: str) -> None:
    """Print a command on as many lines as it needs, each but the last continued as a shell reads it."""
    lines = [""]
    for part in line.replace(" --", "\n--").split("\n"):  # an option stays beside its value
        if lines[-1] and len(lines[-1]) + len(part) > out.width - 3:
            lines.append(f"  {part}")
        else:
            lines[-1] = f"{lines[-1]} {part}" if lines[-1] else part
    out.print(Text(" \\\n".join(lines)), soft_wrap=True)


def lines_to(out: Console, text: str, start: str = "", style: str = "") -> None:
    """Print text behind a label, on as many lines as it needs."""
    out.print(Text(filled(text, out.width, start)), style=style)


def advice_to(out: Console, advice: str) -> None:
    """Print what to do in bold; where that is long, its first sentence, and each further one in a list."""
    first, *others = sentences_in(advice) if len(advice) > LONG else [advice]
    lines_to(out, first, style="bold")
    for each in others:
        lines_to(out, each, "- ")


def _network(prediction: Prediction) -> str:
    """Return the links of a job in words."""
    scenario = prediction.scenario
    over = " over TCP" if scenario["transport"] == "tcp" else ""
    adapters = f"{scenario['nics']} x {link_name(scenario['inter_link'])}{over}"
    if scenario["world_size"] == 1:
        return f"{adapters} to the servers" if scenario["servers"] else "no communication"
    if scenario["accelerators_per_node"] == 1:
        return f"{adapters} between"
    inside = f"{link_name(scenario['intra_link'])} inside"
    if (scenario["nodes"] == 1 and not scenario["servers"]) or scenario["inter_link"] is None:
        return inside
    return f"{inside}, {adapters} between"


def _mode(prediction: Prediction) -> str:
    """Return the basis of a prediction in words."""
    return "from specs" if prediction.mode == "specs" else prediction.mode


def show_scaling(scaling: Scaling) -> None:
    """Print a scaling table, with notes under it."""
    out = console()
    last = scaling.predictions[-1]
    scenario = last.scenario
    out.print(
        Text(
            f"{network_name(scenario['workload'])} on {accelerator_name(scenario['accelerator'])}, "
            f"{scenario['precision']}, "
            f"{scenario['strategy']}, {last.scaling} scaling; {last.model} model"
        ),
        style="bold",
    )
    if lacking := overflows(scaling.predictions):
        out.print(Text(lacking), style="bold")
    out.print(Text(_network(max(scaling.predictions, key=lambda each: each.scenario["world_size"]))))
    out.print()
    show_card(out, scaling.card)
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
            per_cent(row.scaling_efficiency),
            shown_part(row.exposed_communication_time, row.iteration_time),
            short_verdict(row.fits_probability),
        )
    out.print(shown)
    for note in scaling.notes:
        out.print(Text(note))
    at = f"at {scenario['world_size']} GPUs " if len(scaling.rows) > 1 else ""
    out.print(Text(at + last.verdict))
    out.print(Text("defaults taken: " + ", ".join(last.defaults)))
    for warning in last.warnings:
        out.print(Text(f"note: {warning}"))
