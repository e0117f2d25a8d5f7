"""``sensitivity``: how time and cost of an iteration depend on the inputs, or how much suffices."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

from perfmodel.core.choices import Varied
from perfmodel.core.errors import refusal
from perfmodel.core.records.options import OptionInfo
from perfmodel.core.records.record import same_as
from perfmodel.core.units import per_cent
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.commands import enough
from perfmodel.interfaces.forms import forms_of
from perfmodel.interfaces.report import report
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from rich.console import Console

    from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport
    from perfmodel.decide.sensitivity.until import Enough

SMALL = 0.005
"""Elasticity below which an input is only named."""
HALF_BAR = 15
"""Half the width of the tornado chart, in characters."""
LABEL = 32
"""Width of the names of inputs left of it."""
MOST_BARS = 12
"""Inputs of the tornado chart."""
_COLUMNS = {
    "name": "input",
    "value": "value",
    "unit": "unit",
    "time.elasticity": "time",
    "time.below": "below",
    "time.above": "above",
    "cost.elasticity": "cost",
    "at_-25%": "-25 % [s]",
    "at_+25%": "+25 % [s]",
}
_Priced = Annotated[Conditions | None, OptionInfo(but=("epochs", "samples", "tokens", "server_price"))]


class SensitivityRequest(enough.EnoughRequest):
    """A training job: what its time depends on, or with ``vary`` how much of something suffices.

    Parameters
    ----------
    vary : Instead find the fewest servers or nics, the slowest inter-link or the most gpus that reach
        {until}.
    conditions : Prices, power and failures: also what the cost depends on.
    """

    vary: Annotated[Varied | None, enough.VARY] = None  # type: ignore[assignment]  # may be left out
    conditions: _Priced = None


class Wanted(NamedTuple):
    """The option to vary, and the values to try."""

    name: str
    values: tuple[int | str, ...] | None = None


def _wanted(text: str | Wanted) -> Wanted:
    """Return the option and values of a text such as ``servers`` or ``servers=1-16``."""
    if isinstance(text, Wanted):  # parsed before a scenario's file was laid below it
        return text
    from perfmodel.interfaces.cli.types import Counts

    name, equals, values = text.partition("=")
    name = name.strip().replace("_", "-")
    if not equals:
        return Wanted(name)
    if name == "inter-link":
        return Wanted(name, tuple(part.strip() for part in values.split(",") if part.strip()))
    return Wanted(name, Counts().convert(values, None, None))


class Typed(Scenario, heading="How much is enough"):
    """The request in a shell.

    Parameters
    ----------
    vary : servers, inter-link, nics or gpus: how much suffices for --until; servers=1-16 tries these.
    """

    vary: Annotated[Wanted | None, OptionInfo(read=_wanted, form="NAME[=VALUES]")] = None
    until: float | None = same_as(enough.EnoughRequest)
    conditions: _Priced = None

    def request(self) -> SensitivityRequest:
        """Return the request."""
        given = {name: self.__dict__[name] for name in self.model_fields_set}
        if self.vary is not None:
            given |= {"vary": self.vary.name, "values": self.vary.values}
        return SensitivityRequest.model_construct(**given)


def run(request: SensitivityRequest, context: Context) -> "SensitivityReport | Enough":
    """Return how time and cost of an iteration depend on its inputs, or with ``vary`` how much suffices.

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import sensitivity
    >>> report = sensitivity(gpus=32)
    >>> max(report.inputs, key=lambda row: abs(row["time"]["elasticity"] or 0))["name"]
    'local_batch_size'
    """
    if request.vary is not None:
        if (request.conditions or Conditions()) != Conditions():
            raise refusal("sensitivity.conditions", "conditions", "vary")
        return enough.run(request, context)
    for name in ("until", "values"):
        if getattr(request, name) is not None:
            raise refusal("sensitivity.no_vary", name, "vary", known=get_args(Varied))
    from perfmodel.decide.sensitivity import sensitivity
    from perfmodel.decide.sensitivity.sensitivity_tables import sensitivity_report
    from perfmodel.model.fitted.calibration import calibration

    constants = context.constants
    result = sensitivity(request.alone(), context.catalogue, constants, request.conditions or Conditions())
    return sensitivity_report(result, context.catalogue, constants or calibration())


def text(answer: "SensitivityReport | Enough", request: object) -> None:
    """Print the inputs by their effect, and the limits; or a row for each value that was tried."""
    from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport

    if isinstance(answer, SensitivityReport):
        _show(answer)
    else:
        enough.text(answer, request)


def _markdown(answer: "SensitivityReport | Enough", request: object) -> str:
    """Return the inputs, limits and crossovers as Markdown."""
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.decide.sensitivity.levers import decision
    from perfmodel.decide.sensitivity.per_sample import effects
    from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport

    if not isinstance(answer, SensitivityReport):
        return enough.markdown_of(answer, request)
    priced = answer.cost_per_1000_samples is not None
    columns = {key: text for key, text in _COLUMNS.items() if priced or not key.startswith("cost")}
    parts = [
        f"## {answer.title}\n",
        *([f"**The job {answer.unfit}.**\n"] if answer.unfit else []),
        f"{decision(effects(answer.inputs, answer.iteration_time), answer.crossovers)}\n",
        f"Iteration time {answer.iteration_time:.6g} s.  Elasticities: percent for each percent.\n",
        *([f"Price {answer.price_words}.\n"] if answer.price_words else []),
        markdown_table(answer.records(), columns),
        "### What binds\n",
        "".join(f"- {arm['of']}: {arm['words']}\n" for arm in answer.maxima) or "- none\n",
        "### Where that changes\n",
        "".join(f"- {turn['words']}\n" for turn in answer.crossovers) or "- none\n",
    ]
    return "\n".join(parts)


def _show(answer: "SensitivityReport") -> None:
    """Print the inputs, the tornado chart, limits, crossovers and notes."""
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.decide.sensitivity.levers import decision
    from perfmodel.decide.sensitivity.per_sample import effects
    from perfmodel.interfaces.cli.render import console

    out = console()
    out.print(Text(answer.title), style="bold")
    if answer.unfit:
        out.print(Text(f"the job {answer.unfit}"), style="bold")
    out.print(Text(decision(effects(answer.inputs, answer.iteration_time), answer.crossovers)))
    line = f"iteration time {show(answer.iteration_time, 's')}"
    cost = answer.cost_per_1000_samples
    if cost is not None:
        line += f"; {cost:.3g} USD for 1,000 {answer.sample}s"
    out.print(Text(line))
    if answer.price_words:
        out.print(Text(f"price {answer.price_words}"))
    _show_inputs(out, answer)
    _show_tornado(out, answer)
    for heading, lines in (
        ("what binds", [f"{arm['of']}: {arm['words']}" for arm in answer.maxima]),
        ("where that changes", [turn["words"] for turn in answer.crossovers]),
        ("note", answer.notes),
    ):
        if lines:
            out.print(Text(heading), style="bold")
        for line in lines:
            out.print(Text(f"- {line}"))


def _show_inputs(out: "Console", answer: "SensitivityReport") -> None:
    """Print the elasticities of inputs and counts as a table."""
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.decide.sensitivity.input_words import short_label
    from perfmodel.decide.sensitivity.sensitivity_tables import sides_words
    from perfmodel.interfaces.cli.render import table

    priced = answer.cost_per_1000_samples is not None
    rows = table("elasticity to", "value", "of time", *(["of cost"] if priced else []))
    small: list[str] = []
    none: list[str] = []
    for each in answer.inputs:
        sides = [side for of in (each["time"], each["cost"]) if of for side in (of["below"], of["above"])]
        known = [abs(side) for side in sides if side is not None]
        largest = max(known, default=SMALL)  # where it jumps it has none, and counts
        if largest < SMALL:
            (small if largest > 1e-9 else none).append(short_label(each["name"]))
            continue
        value = show(each["value"], each["unit"]) if each["unit"] != "1" else f"{each['value']:.4g}"
        cells = [sides_words(each["time"]), *([sides_words(each["cost"])] if priced else [])]
        rows.add_row(short_label(each["name"]), value, *cells)
    if answer.counts:
        rows.add_section()
    for count in answer.counts:
        cells = [sides_words(count["time"]), *([sides_words(count["cost"])] if priced else [])]
        rows.add_row(f"{short_label(count['name'])} (halved, doubled)", str(count["value"]), *cells)
    out.print(rows)
    if small:
        out.print(Text(f"below {SMALL:g}: {', '.join(small)}"))
    if none:
        out.print(Text(f"no effect: {', '.join(none)}"))
    out.print(Text(_dimensions(answer)))
    out.print()


def _dimensions(answer: "SensitivityReport") -> str:
    """Return a sentence with the sums of elasticities by base unit, a check of dimensions."""
    totals = [
        f"{unit} {round(total, 6) + 0.0:.3f}" for unit, total in answer.sums.items() if total is not None
    ]
    if not answer.sums:
        return "check of units: not made of transformers"
    if not totals:
        return "check of units: not defined, messages are fused by a clock"
    report = f"check of units (elasticities in s add up to 1, in others to 0): {', '.join(totals)}"
    together = " and ".join(answer.sums_together)
    return (
        f"{report}; at a kink, where two limits bind, so all inputs in {together} changed at once"
        if together
        else report
    )


def _show_tornado(out: "Console", answer: "SensitivityReport") -> None:
    """Print bars from the time with an input 25 % smaller to that with it 25 % larger."""
    from rich.text import Text

    from perfmodel.decide.sensitivity.input_words import short_label

    whole = answer.iteration_time
    swings = [
        (short_label(each["name"]), each["at_-25%"] / whole - 1, each["at_+25%"] / whole - 1)
        for each in answer.inputs
    ]
    swings.sort(key=lambda swing: -abs(swing[1] - swing[2]))
    swings = [swing for swing in swings if max(abs(swing[1]), abs(swing[2])) >= SMALL / 4][:MOST_BARS]
    if not swings:
        return
    widest = max(abs(side) for _, *sides in swings for side in sides)
    out.print(Text("iteration time with an input at -25 % (-) and at +25 % (+)"), style="bold")
    for name, low, high in swings:
        ends = "".join(f"{per_cent(change, signed=True):>8}" for change in (low, high))
        out.print(Text(f"{name[:LABEL]:<{LABEL}}{_bar(low, high, widest)}{ends}".rstrip()))
    out.print()


def _bar(low: float, high: float, widest: float) -> str:
    """Return a bar of the tornado chart."""
    cells = [" "] * (2 * HALF_BAR)
    middle = HALF_BAR
    for side, mark in ((low, "-"), (high, "+")):
        length = round(abs(side) / widest * middle)
        for i in range(length):
            cells[middle - 1 - i if side < 0 else middle + i] = mark
    return "".join(cells[:middle]) + "|" + "".join(cells[middle:])


def _page(answer: "SensitivityReport", request: SensitivityRequest, context: Context) -> Any:
    """Return the page of a sensitivity."""
    from perfmodel.interfaces.reports.sensitive import page_of_sensitivity

    conditions = request.conditions or Conditions()
    return page_of_sensitivity(answer, request.alone(), context.typed, context.catalogue, conditions)


_REPORT = report(_page)


def _check(file: Path, request: SensitivityRequest) -> None:
    """Check that a report can be written; there is none with ``vary``."""
    if request.vary is not None:
        raise refusal("sensitivity.report")
    _REPORT.check(file, request)


COMMAND = Command(
    name="sensitivity",
    summary="Show what the time and the cost of an iteration depend on, and where that changes.",
    about="""An elasticity of -0.8 means that 1 % more of this input takes 0.8 % off the time.  At a kink,
where two arms of a maximum meet, the sides differ and both are shown.

With --vary and --until instead: the fewest parameter servers or adapters, the slowest network, or the most
GPUs that reach a scaling efficiency.  The exit code is 1 if none does.""",
    request=SensitivityRequest,
    typed=Typed,
    answers=(
        "perfmodel.decide.sensitivity.sensitivity_tables:SensitivityReport",
        "perfmodel.decide.sensitivity.until:Enough",
    ),
    run=run,
    constants=True,
    text=text,
    forms=forms_of(markdown=_markdown),
    writes={"report": _REPORT._replace(check=_check)},
    status=lambda answer: enough.status(answer) if hasattr(answer, "answer") else 0,
    examples=(
        "perfmodel sensitivity --gpus 32",
        "perfmodel sensitivity --gpus 16 --node aws-p3.16xlarge",
        "perfmodel sensitivity --gpus 8 --workload vgg16 --accelerator k80 --price 7.2",
        "perfmodel sensitivity --gpus 32 --report sensitivity.html",
        "perfmodel sensitivity --gpus 32 --workload vgg16 --vary inter-link --until 90%",
        "perfmodel sensitivity --gpus 32 --strategy parameter-server --vary servers --until 80%",
    ),
    bodies={
        "ResNet-50 on 32 GPUs": {"gpus": 32},
        "how many servers": {
            "workload": "vgg16",
            "gpus": 32,
            "strategy": "parameter-server",
            "vary": "servers",
            "until": "90%",
        },
    },
)
