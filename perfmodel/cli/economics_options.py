"""The options of prices, power and failures, and the lines they print."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from perfmodel import units

_Command = TypeVar("_Command", bound=Callable[..., Any])

LARGEST = 1e12


class _Positive(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number above zero, or from it where zero means something."""

    name = "number"

    def __init__(self, low: float = 0.0, high: float = LARGEST, open_: bool = True) -> None:
        self.low, self.high, self.open = low, high, open_

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        share = self.high <= 1 or not str(value).strip().endswith("%")
        number = units.number(value) if share else math.nan
        if not (self.low <= number <= self.high and (number > self.low or not self.open)):
            above = "above" if self.open else "from"
            self.fail(f"{str(value)!r} is not a number {above} {self.low:g} up to {self.high:g}", param, ctx)
        return number


class _Time(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``60s``, ``10min``, ``6000h``, ``30d``: never without a unit, a number could be seconds or hours."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from perfmodel.errors import InputError
        from perfmodel.units import parse

        try:
            time = parse(value, "s")
        except InputError as error:
            self.fail(str(error), param, ctx)
        if time and not str(value).strip()[-1].isalpha():
            self.fail(f"{str(value)!r} has no unit; expected for example {value}h or {value}s", param, ctx)
        return time


ABOVE_ZERO, TIME = _Positive(), _Time()

_OF_ALL = (
    click.option("--region", help="Of the provider, e.g. us-east-1.  [default: the cheapest known]"),
    click.option("--service-years", type=ABOVE_ZERO, help="Until it is written off.  [default: 4]"),
    click.option("--used-fraction", type=_Positive(high=1.0), help="Of its life at work.  [default: 1]"),
    click.option("--electricity-price", type=ABOVE_ZERO, help="USD per kWh, for a node of one's own."),
    click.option(
        "--pue", type=_Positive(1.0, 10.0, False), help="Building's over machines' power.  [default: 1]"
    ),
    click.option(
        "--host-power", type=_Positive(open_=False), help="Node without accelerators, W.  [default: 0]"
    ),
    click.option("--carbon-intensity", type=_Positive(open_=False), help="Grams of CO2 per kWh."),
    click.option(
        "--node-mtbf",
        "node_failure_interval",
        type=TIME,
        help="Time between failures of one node, e.g. 6000h.",
    ),
    click.option("--checkpoint-time", type=TIME, help="To write one checkpoint, e.g. 60s."),
    click.option("--restart-time", type=TIME, help="From a failure until work goes on.  [default: 0]"),
)

_OPTIONS = (
    click.option("--cost", "wanted", is_flag=True, help="Also money, energy and carbon."),
    click.option("--epochs", type=ABOVE_ZERO, help="Of the run whose cost to tell."),
    click.option("--samples", type=ABOVE_ZERO, help="Of that run in all, instead of --epochs, e.g. 5e6."),
    click.option(
        "--price", type=ABOVE_ZERO, help="Of one node, USD per hour.  [default: on demand, if known]"
    ),
    click.option("--purchase-price", type=ABOVE_ZERO, help="Of one node, USD, instead of a rent."),
    click.option("--server-price", type=ABOVE_ZERO, help="Of one parameter server's machine, USD per hour."),
    *_OF_ALL,
)


def economics_options(command: _Command) -> _Command:
    """Give a command every option of prices, power and failures."""
    return _with(command, _OPTIONS)


def conditions_options(command: _Command) -> _Command:
    """Give a command those that hold for many machines alike: none that says what one machine costs."""
    return _with(command, _OF_ALL)


def _with(command: _Command, options: tuple[Callable[[_Command], _Command], ...]) -> _Command:
    for option in reversed(options):
        command = option(command)
    return command


def take_economics(options: dict[str, Any]) -> dict[str, Any] | None:
    """Take the options of ``economics_options`` out of a command's; None where none of them was given."""
    wanted = options.pop("wanted")
    names = [option for option in NAMES if option in options]
    given = {name: value for name in names if (value := options.pop(name)) is not None}
    return given if wanted or given else None


NAMES = (
    "epochs",
    "samples",
    "price",
    "region",
    "purchase_price",
    "server_price",
    "service_years",
    "used_fraction",
    "electricity_price",
    "pue",
    "host_power",
    "carbon_intensity",
    "node_failure_interval",
    "checkpoint_time",
    "restart_time",
)


def show_economics(found: dict[str, Any]) -> None:
    """Print what ``perfmodel.economics.economics`` returns, at 80 columns."""
    from rich.text import Text

    from perfmodel.cli.render import console, table
    from perfmodel.units import show

    out = console()
    rows = table("cost", "time", "USD", "kWh", "kg CO2")
    for key, label in (("per_iteration", "iteration"), ("per_epoch", "epoch"), ("run", "run")):
        span = found[key]
        if span:
            name = _run(span) if key == "run" else label
            cells = (amount(span["cost"]), amount(span["energy"]), amount(span["carbon"], 1e-3))
            rows.add_row(name, show(span["time"], "s"), *cells)
    out.print(rows)
    for line in (*_price(found["price"]), *_failures(found["reliability"])):
        out.print(Text(line))
    if found["assumed"]:
        out.print(Text("assumed: " + "; ".join(found["assumed"])))
    for line in found["unknown"]:
        out.print(Text(f"unknown: {line}"))


def _run(span: dict[str, Any]) -> str:
    if span["epochs"] is not None:
        return f"run of {span['epochs']:g} epochs"
    return f"run of {span['samples']:.6g} samples"


def amount(value: float | None, scale: float = 1.0) -> str:
    """An amount of money, energy or carbon as people write it; a dash where it is not known."""
    if value is None:
        return "-"
    value *= scale
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _price(price: dict[str, Any] | None) -> list[str]:
    if price is None:
        return []
    from perfmodel.prices import Price, price_words

    first, on_demand, where = price_words(Price(**price)).partition(" on demand, ")
    lines = [f"{'price':<22}{first}{on_demand.removesuffix(', ')}"]
    return [*lines, f"{'':<22}{where}"] if where else lines


def _failures(reliability: dict[str, Any] | None) -> list[str]:
    if reliability is None:
        return []
    from perfmodel.units import show

    interval = reliability["checkpoint_interval"]
    best = "too short a run for a checkpoint to pay"
    if interval is not None:
        best = f"best to write a checkpoint every {show(interval, 's')}"
    lines = [
        f"{'goodput':<22}{reliability['goodput']:.1%} of the time is work kept",
        f"{'failures':<22}one in {amount(reliability['failure_interval'], 1 / 3600)} h; {best}",
    ]
    if reliability["failures"] is not None:
        lines.append(f"{'':<22}{reliability['failures']:.3g} expected in the run")
    return lines
