"""``perfmodel plan --have FLEET``: what machines or a network would add, cost and pay back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import markdown_table, with_values
from perfmodel.interfaces.cli.economics_options import take_conditions
from perfmodel.interfaces.cli.export import exported
from perfmodel.interfaces.cli.types import Quantity
from perfmodel.model.options.conditions import LARGEST

if TYPE_CHECKING:
    from perfmodel.decide.planning.fleets.result import FleetOption, Fleets, Purchase
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.interfaces.cli.export import Form

_Command = TypeVar("_Command", bound=Callable[..., Any])
OWN = ("have", "buy", "hour_value", "adapter_price", "switch_price", "switch_ports")
"""Parameters of the command that are of fleets alone."""
ONE_OF = {"strategies": "strategy", "algorithms": "algorithm", "precisions": "precision"}
_ONE_BATCH = {"local_batch_sizes": "local_batch_size"}
_LENGTHS = ("epochs", "samples", "tokens")
_NOT_OF_FLEETS = {
    "target": "--target",
    "recipe": "--recipe",
    "budget": "--budget",
    "power_limit": "--power-limit",
    "accelerators": "--accelerator",
    "instances": "--instance",
    "nodes": "--node",
    "max_gpus": "--max-gpus",
    "max_nodes": "--max-nodes",
    "server_node": "--server-node",
    "max_global_batch": "--max-global-batch-size",
}


class _OfLink(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``ib-ndr-400g=1500``, or a number alone for every network that is bought."""

    name = "[link=]number"

    def __init__(self, unit: str, above_zero: bool) -> None:
        self.of = Quantity(unit, LARGEST, above_zero)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        link, equals, amount = str(value).rpartition("=")
        if equals and not link.strip():
            self.fail(f"{value!r}: expected LINK={amount or 'N'}, e.g. ib-ndr-400g=1500", param, ctx)
        return link.strip(), self.of.convert(amount, param, ctx)


def fleet_options(command: _Command) -> _Command:
    """Give a command what one has, what may be bought for it, and what that costs."""
    for option in reversed(
        (
            click.option(
                "--have",
                multiple=True,
                metavar="FLEET",
                help="What you have, e.g. '8 x dgx-a100-80gb@ib-hdr-200g': what would more add to it? "
                "Several kinds joined by +, or again for each.",
            ),
            click.option(
                "--buy",
                multiple=True,
                metavar="WHAT",
                help="For it: '4 x dgx-h100', 'ib-ndr-400g' for all, or both joined by +; again for each "
                "option.  [default: more of the same, faster networks, newer machines]",
            ),
            click.option(
                "--hour-value",
                type=Quantity("USD", LARGEST),
                help="Of an hour of the work of what you have, USD.  [default: its rent]",
            ),
            click.option(
                "--adapter-price",
                type=_OfLink("USD", True),
                multiple=True,
                help="Of one network adapter that is bought, USD, e.g. ib-ndr-400g=1500.",
            ),
            click.option(
                "--switch-price",
                type=_OfLink("USD", False),
                multiple=True,
                help="Of one switch with its cables, USD; 0 where there are enough.",
            ),
            click.option(
                "--switch-ports",
                type=_OfLink("1", True),
                multiple=True,
                help="Of one switch, e.g. ib-ndr-400g=64.",
            ),
        )
    ):
        command = option(command)
    return command


def take_fleet(options: dict[str, Any]) -> dict[str, Any] | None:
    """Take the options of ``fleet_options`` out of a command's; None where no fleet is given.

    Raises
    ------
    InputError : what goes with a fleet, without one
    """
    own = {name: options.pop(name) for name in OWN}
    if own["have"]:
        return {**own, "have": " + ".join(own["have"])}
    given = [name for name, value in own.items() if value not in (None, ())]
    if given:
        raise refusal("fleet.no_have", given[0])
    return None


def answer_fleet(
    own: Mapping[str, Any],
    options: dict[str, Any],
    prices: Mapping[str, Mapping[str, float]],
    catalogue: Catalogue,
) -> Fleets:
    """Return what a command's options ask of a fleet.

    Parameters
    ----------
    own : as ``take_fleet`` took it
    options : the rest, by the names of the command's parameters
    prices : ``prices`` and ``purchase_prices``, as they were named

    Raises
    ------
    InputError : options that a fleet leaves no choice of; as ``fleets``
    """
    from perfmodel.interfaces.api.fleets import fleets

    given = {name: value for name, value in options.items() if value not in (None, ())}
    for name, option in _NOT_OF_FLEETS.items():
        if name in given:
            raise refusal("fleet.goes_without_have", option)
    length = {name: given.pop(name) for name in _LENGTHS if name in given}
    conditions = take_conditions(given)
    for many, one in (ONE_OF | _ONE_BATCH).items():
        values = given.pop(many, ())
        if len(values) > 1:
            raise refusal("fleet.one_value", one, count=len(values))
        if values:
            given[one] = values[0]
    of_links: dict[str, Any] = {
        f"{name}s" if name.endswith("price") else name: _once(name, own[name])
        for name in ("adapter_price", "switch_price", "switch_ports")
    }
    return fleets(
        own["have"],
        own["buy"],
        hour_value=own["hour_value"],
        prices=prices["prices"],
        purchase_prices=prices["purchase_prices"],
        deadline=given.pop("deadline", None),
        conditions=conditions,
        catalogue=catalogue,
        **of_links,
        **length,
        **given,
    )


def _once(name: str, given: Sequence[tuple[str, float]]) -> dict[str, float]:
    result: dict[str, float] = {}
    for link, amount in given:
        if link in result:
            every = "the ports of all are" if name == "switch_ports" else "the price of all is"
            raise refusal("fleet.given_twice", name, value=f"{link} is" if link else every)
        result[link] = amount
    return result


_COLUMNS = {
    "option": "option",
    "policy": "shares",
    "gpus": "GPUs",
    "global_batch_size": "samples a step",
    "samples_per_second": "samples/s",
    "ratio": "times as fast",
    "ratio_low_80": "80 %, from",
    "ratio_high_80": "to",
    "run_time": "run [s]",
    "capital": "USD",
    "rent": "USD/h",
    "payback_time": "pays back [s]",
    "worth": "worth [USD]",
}


def show_fleets(answer: Fleets, form: Form | None) -> None:
    """Print a comparison of fleets."""
    if form == "markdown":
        rows = answer.records()
        columns = with_values(rows, _COLUMNS)
        words = "".join(f"- {line}\n" for line in (*answer.words, *answer.notes))
        click.echo(f"## {answer.headline}\n\n{markdown_table(rows, columns)}\n{words}", nl=False)
    elif not exported(answer, form):
        _show(answer)


def _show(answer: Fleets) -> None:
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console

    out = console()
    for i, line in enumerate(answer.words):
        out.print(Text(line), style="bold" if i == 0 else "")
    out.print(Text(answer.headline))
    _show_options(answer)
    _show_mixed(answer)
    _show_prices(answer)
    for one in answer.left_out:
        out.print(Text(f"left out: {one.option}: {one.reason}"))
    for line in answer.notes:
        out.print(Text(f"note: {line}"))
    for line in dict.fromkeys(line for one in (answer.have, *answer.options) for line in one.notes):
        out.print(Text(f"note: {line}"))


def _show_options(answer: Fleets) -> None:
    from perfmodel.core.units import duration, rate
    from perfmodel.interfaces.cli.render import console, table

    timed = answer.samples is not None
    rows = table("option", "GPUs", "run" if timed else "samples/s", "times as fast", "USD", "pays back")
    rows.padding = (0, 1, 0, 0)
    rows.columns[0].max_width = 27
    for column in rows.columns[1:]:
        column.no_wrap = True
    for one in (answer.have, *answer.options):
        speed = duration(one.run_time or 0.0) if timed else rate(one.samples_per_second)
        name = one.option if one.policy == "one kind" else f"{one.option}, {one.policy}"
        rows.add_row(name, str(one.gpus), speed, _times(one), _dollars(one.purchase), _payback(one))
    console().print(rows)


def _times(one: FleetOption) -> str:
    if one.ratio is None:
        return ""
    if one.ratio.low_80 is None:
        return f"{one.ratio.value:.3g}"
    return f"{one.ratio.value:.2f} ({one.ratio.low_80:.2f} to {one.ratio.high_80:.2f})"


def _dollars(purchase: Purchase | None) -> str:
    from perfmodel.core.units import rate, thousands

    if purchase is None:
        return ""
    if purchase.capital is None or purchase.rent is None:
        return "unknown"
    capital = thousands(purchase.capital) if purchase.capital or not purchase.rent else ""
    rent = f"{rate(purchase.rent)}/h" if purchase.rent else ""
    return " + ".join(part for part in (capital, rent) if part)


def _payback(one: FleetOption) -> str:
    from perfmodel.core.units import duration

    if one.payback is None:
        return "" if one.purchase is None else "-"
    if one.payback.time is None:
        return "never"
    return duration(one.payback.time) if one.payback.time else "at once"


def _run(one: FleetOption, have: FleetOption) -> str:
    """What a run stands for, with an option and as it is."""
    from perfmodel.core.units import dollars

    if one.cost_of_run is None or have.cost_of_run is None:
        return ""
    return f"; a run stands for {dollars(one.cost_of_run)}, {dollars(have.cost_of_run)} as it is"


def _show_mixed(answer: Fleets) -> None:
    """Print who paces whom in mixed fleets."""
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console, table

    mixed = [one for one in (answer.have, *answer.options) if len(one.kinds) > 1]
    if not mixed:
        return
    out = console()
    out.print(Text("Mixed fleets: a step, and what each kind does in it"), style="bold")
    rows = table("fleet", "samples a GPU", "own work", "exposed", "step", left=1)
    rows.padding = (0, 1, 0, 0)
    for one in mixed:
        network = f" on {one.network}" if one.network else ""
        rows.add_row(f"{one.policy}{network}", "", "", "", show(one.iteration_time, "s"))
        for kind in one.kinds:
            own, exposed = show(kind.own_time, "s"), show(kind.exposed_time, "s")
            each = f"{kind.samples_per_gpu:.4g}"
            rows.add_row(f"  {kind.machines} x {kind.name}", each, own, exposed, "")
    out.print(rows)


def _show_prices(answer: Fleets) -> None:
    """Print what options cost and why, and what those without a price may."""
    from rich.text import Text

    from perfmodel.core.units import dollars
    from perfmodel.decide.planning.fleets.verdict import payback_words
    from perfmodel.interfaces.cli.render import console

    out = console()
    shown: set[str] = set()
    for one in answer.options:
        if one.purchase is None:
            continue
        each = [
            f"{item.count} x {item.what} at {dollars(item.each)}{'/h' if item.basis == 'rent' else ''}"
            + ("" if item.source == "given" else f" ({item.source})")
            for item in one.purchase.items
        ]
        if one.option not in shown:
            for line in (*each, *one.purchase.unknown):
                out.print(Text(f"{one.option}: {line}"))
        shown.add(one.option)
        name = "" if one.policy == "one kind" else f", {one.policy}"
        if one.payback is not None:
            out.print(Text(f"{one.option}{name}: {payback_words(one)}{_run(one, answer.have)}"))
        elif one.purchase.capital is None and one.worth is not None:
            words = f"pays back in time up to {dollars(one.worth)}" if one.worth else "pays back at no price"
            out.print(Text(f"{one.option}{name}: {words}"))
