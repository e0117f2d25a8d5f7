"""``fleets``, in a shell ``plan --have``: what machines or a network would add, cost and pay back."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from perfmodel.core.choices import Names
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import forms_of
from perfmodel.model.options.conditions import LARGEST, Conditions
from perfmodel.model.options.run import Run, Shared
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.decide.planning.fleets import Fleets
    from perfmodel.decide.planning.fleets.result import FleetOption

    ByLink: TypeAlias = Mapping[str, float] | float
else:

    class ByLink:
        """A number of every link, or a table of numbers by link."""

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            """Take either."""
            from pydantic_core import core_schema

            one = core_schema.float_schema(strict=True, ge=0, le=LARGEST)
            return core_schema.union_schema([one, core_schema.dict_schema(core_schema.str_schema(), one)])


class Bought(Described):
    """What may be bought for machines that one has, and what that costs.

    Parameters
    ----------
    buy : With --have: '4 x dgx-h100', 'ib-ndr-400g' for all machines, or both joined by +, for each option.
        [default: more of the same, faster networks, newer machines]
    run_time : [s] With --have: time that your run takes on those machines today, e.g. 18h or 3d; its length
        need not be known.
    hour_value : [USD] With --have: of an hour of the work of those machines.  [default: their rent]
    adapter_prices : With --have: of one network adapter that is bought, USD, of all or by link.
    switch_prices : With --have: of one switch with its cables, USD, of all or by link; 0 where there are
        enough.
    switch_ports : With --have: of one switch, of all or by link.
    """

    buy: Names = ()
    run_time: Annotated[
        Annotated[float, Within(gt=0, le=LARGEST, strict=True)] | None,
        OptionInfo(label="Your run today, e.g. 18h", unit="s"),
    ] = None
    hour_value: Annotated[
        Annotated[float, Within(gt=0, le=LARGEST, strict=True)] | None, OptionInfo(unit="USD")
    ] = None
    adapter_prices: Annotated[ByLink | None, OptionInfo(name="adapter-price")] = None
    switch_prices: Annotated[ByLink | None, OptionInfo(name="switch-price")] = None
    switch_ports: ByLink | None = None


class FleetsRequest(Bought, Shared):
    """Machines one has, a job that they train, and what may be bought for them.

    Parameters
    ----------
    have : Machines, e.g. '8 x dgx-a100-80gb@ib-hdr-200g', NODE@LINK, NODE@2 x LINK of two adapters each, or
        NODE/ACCELERATOR@LINK of those that take any GPU; of several types joined by +.
    tokens : [count of tokens] Tokens of the whole run, instead of epochs, e.g. 1T or 300B.
    conditions : Region, service years, share of the time at work and electricity; no others.
    """

    have: str
    workload: str = same_as(Run)
    epochs: float | None = same_as(Run)
    samples: float | None = same_as(Run)
    tokens: float | None = same_as(Run)
    deadline: float | None = same_as(Run)
    precision: str | None = same_as(Scenario)
    algorithm: str | None = same_as(Scenario, None)
    strategy: str | None = same_as(Scenario, None)
    local_batch_size: int | None = same_as(Scenario)
    global_batch_size: int | None = same_as(Scenario)
    prices: Mapping[str, float] = same_as(Run)
    purchase_prices: Mapping[str, float] = same_as(Run)
    conditions: Conditions | None = None


_OF_JOB = (
    *("workload", "precision", "algorithm", "strategy", "local_batch_size", "global_batch_size"),
    *Shared.model_fields,
)
_OF_MARKET = (
    *("prices", "purchase_prices", "adapter_prices", "switch_prices", "switch_ports"),
    *("hour_value", "conditions"),
)


def run(request: FleetsRequest, context: Context) -> "Fleets":
    """Compare what may be bought for a fleet: how much faster it is, what it costs, when it pays back.

    Unlike machines train one job in step, by all-reduce: with as many samples each, so that the slowest
    pace the others, and with as many as each is fast.

    Raises
    ------
    InputError : something unknown, a price that is none, a condition that changes nothing of a fleet, a job
        that does not fit

    Examples
    --------
    >>> from perfmodel import fleets
    >>> answer = fleets("8 x dgx-a100-80gb", ["4 x dgx-a100-80gb", "4 x dgx-h100"], workload="bert-large")
    >>> [(one.option, one.policy) for one in answer.options][1:]
    [('4 x dgx-h100', 'slowest paces'), ('4 x dgx-h100', 'shares by speed')]
    >>> answer.options[1].ratio.value < answer.options[2].ratio.value
    True
    """
    from perfmodel.core.candidates import tries
    from perfmodel.decide.planning.fleets import Job, Length, Market, fleets

    def given(names: Any) -> dict[str, Any]:
        every = {name: getattr(request, name) for name in names if name in request.model_fields_set}
        return {name: value for name, value in every.items() if value is not None}

    tries(len(request.buy))
    market = Market.of(context.catalogue, **given(_OF_MARKET))
    job = Job(given(_OF_JOB), context.catalogue, context.constants)
    length = Length(request.epochs, request.samples, request.tokens)
    times = request.deadline, request.run_time
    return fleets(job, request.have, request.buy, market, length, *times)


_COLUMNS = {
    "option": "option",
    "policy": "shares",
    "gpus": "GPUs",
    "global_batch_size": "samples a step",
    "samples_per_second": "samples/s",
    "ratio": "x as fast",
    "ratio_low_80": "80 %, from",
    "ratio_high_80": "to",
    "run_time": "run [s]",
    "capital": "USD",
    "rent": "USD/h",
    "payback_time": "pays back [s]",
    "worth": "worth [USD]",
}


def markdown(answer: "Fleets", request: object) -> str:
    """Return the options as Markdown."""
    from perfmodel.core.files.tables import markdown_table, with_values
    from perfmodel.interfaces.cli.card_markdown import card_markdown

    rows = answer.records()
    words = "".join(f"- {line}\n" for line in answer.notes)
    table = markdown_table(rows, with_values(rows, _COLUMNS))
    return f"## {answer.headline}\n\n{card_markdown(answer.card)}\n\n{table}\n{words}"


def text(answer: "Fleets", request: object) -> None:
    """Print the answer in words, and a row for each option."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, show_card

    out = console()
    show_card(out, answer.card)
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


def _show_options(answer: "Fleets") -> None:
    from perfmodel.decide.planning.fleets.table_words import columns_of, rows_of
    from perfmodel.interfaces.cli.render import console, table

    rows = table(*columns_of(answer))
    rows.padding = (0, 1, 0, 0)
    rows.columns[0].max_width = 27
    for column in rows.columns[1:]:
        column.no_wrap = True
    for row in rows_of(answer):
        rows.add_row(*row)
    console().print(rows)


def _run(one: "FleetOption", have: "FleetOption") -> str:
    """What a run stands for, with an option and as it is."""
    from perfmodel.core.units import dollars

    if one.cost_of_run is None or have.cost_of_run is None:
        return ""
    return f"; a run stands for {dollars(one.cost_of_run)}, {dollars(have.cost_of_run)} as it is"


def _show_mixed(answer: "Fleets") -> None:
    """Print who paces whom in mixed fleets."""
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.decide.planning.fleets.option_words import policy_words
    from perfmodel.interfaces.cli.render import console, table
    from perfmodel.model.prediction.names import link_name, node_name

    mixed = [one for one in (answer.have, *answer.options) if len(one.kinds) > 1]
    if not mixed:
        return
    out = console()
    out.print(Text("Mixed fleets: a step, and what each kind does in it"), style="bold")
    rows = table("fleet", "samples a GPU", "own work", "exposed", "step", left=1)
    rows.padding = (0, 1, 0, 0)
    for one in mixed:
        network = f" on {link_name(one.network)}" if one.network else ""
        rows.add_row(f"{policy_words(one.policy)}{network}", "", "", "", show(one.iteration_time, "s"))
        for kind in one.kinds:
            own, exposed = show(kind.own_time, "s"), show(kind.exposed_time, "s")
            each = f"{kind.samples_per_gpu:.4g}"
            rows.add_row(f"  {kind.machines} x {node_name(kind.node)}", each, own, exposed, "")
    out.print(rows)


def _show_prices(answer: "Fleets") -> None:
    """Print what options cost and why, and what those without a price may."""
    from rich.text import Text

    from perfmodel.decide.planning.fleets.option_words import name_of
    from perfmodel.decide.planning.fleets.payback_words import (
        basis_words,
        highest_price_words,
        payback_words,
    )
    from perfmodel.interfaces.cli.render import console

    out = console()
    shown: set[str] = set()
    prices: dict[str, str] = {}
    for one in answer.options:
        if one.purchase is None:
            continue
        each = [
            item.at_price + ("" if item.source == "given" else f" ({item.source})")
            for item in one.purchase.items
        ]
        if one.option not in shown:
            for line in (*each, *one.purchase.unknown):
                out.print(Text(f"{one.words}: {line}"))
        shown.add(one.option)
        if one.payback is not None:
            out.print(Text(f"{name_of(one)}: {payback_words(one)}{_run(one, answer.have)}"))
        elif one.purchase.capital is None and one.worth is not None:
            prices[name_of(one)] = highest_price_words(one)
    if prices:
        out.print(Text(f"Pays back at a price below{basis_words(answer.work_value)}:"))
    for name, price in prices.items():
        out.print(Text(f"  {name}: {price}"))


COMMAND = Command(
    name="fleets",
    summary="What more machines, other ones or a faster network add to those one has, cost and pay back.",
    request=FleetsRequest,
    answers=("perfmodel.decide.planning.fleets.result:Fleets",),
    run=run,
    text=text,
    forms=forms_of(markdown=markdown),
    constants=True,
    positional=("have", "buy"),
    examples=('perfmodel plan --have "8 x dgx-a100-80gb" --workload bert-large --samples 1e9',),
    bodies={
        "what to add to machines": {
            "have": "8 x dgx-a100-80gb",
            "buy": ["4 x dgx-a100-80gb", "4 x dgx-h100"],
            "workload": "bert-large",
        }
    },
    without=dict.fromkeys(("shell", "http"), "it is plan with have"),
)
