"""``plan``: what to hire for a run, by when and for how much; with ``have`` what to add to machines."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.core.records.options import OptionInfo, declared
from perfmodel.core.records.record import Within
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.commands import fleets
from perfmodel.interfaces.commands.fleets import Bought, FleetsRequest
from perfmodel.interfaces.forms import Form, forms_of, with_card
from perfmodel.interfaces.report import report
from perfmodel.model.options.conditions import LARGEST, OF_ONE_JOB, Conditions
from perfmodel.model.options.run import Run, Shared

if TYPE_CHECKING:
    from perfmodel.decide.planning import Goal
    from perfmodel.decide.planning.fleets import Fleets
    from perfmodel.decide.planning.plans import Plans

OF_FLEETS = ("have", *Bought.model_fields)
"""Options that are of fleets alone."""
ONE_OF = {
    "strategies": "strategy",
    "algorithms": "algorithm",
    "precisions": "precision",
    "local_batch_sizes": "local_batch_size",
}
"""What a plan may choose from, and a fleet has one of."""
_WHY_NOT = {
    "budget": ", whose answer has each option's price: take the fastest of those within the budget",
    "confidence": ", whose answer has the 80 % interval of each run: hold its upper end against the deadline",
}
"""Option that goes without machines one has -> why."""
_OF_FLEETS_TOO = (
    *("buy", "run_time", "epochs", "samples", "tokens", "deadline", "prices", "purchase_prices"),
    "hour_value",
)
"""Options that go with machines one has, but for those of the job."""
_NEXT_NAME = re.compile(r",(?=[^,=]+=)")
"""A comma before a name with its number, not one within a number such as 350,000."""
_Page = Annotated[int, Within(ge=1, le=1000, strict=True)]


class PlanRequest(Run, Bought, Shared):
    """A training run to be done, and what may be hired for it; of what is left open, everything is tried.

    Parameters
    ----------
    have : Machines you have, e.g. '8 x dgx-a100-80gb@ib-hdr-200g', NODE@LINK, or NODE@2 x LINK of two
        adapters each; what takes any GPU is NODE/ACCELERATOR@LINK.  What would more add to
        them?  Several types joined by +.
    conditions : Region, power and failures; its own prices and length of a run are not used.
    limit : [1] Plans of a page: also so many of all that were tried, the cheapest first.
    offset : [1] Plans before the page.
    """

    have: str | None = None
    conditions: Annotated[Conditions | None, OptionInfo(but=OF_ONE_JOB)] = None
    limit: Annotated[_Page | None, OptionInfo(shell=False)] = None
    offset: Annotated[int, Within(ge=0, le=10**9, strict=True), OptionInfo(shell=False)] = 0

    def given(self) -> dict[str, Any]:
        """Return what was given, by name, without what travels along."""
        names = (name for name in PlanRequest.model_fields if name in self.model_fields_set)
        every = {name: getattr(self, name) for name in names}
        return {name: value for name, value in every.items() if value is not None and value != ()}

    def goal(self) -> "Goal":
        """Return what to search for."""
        from perfmodel.decide.planning import Goal

        given = self.given()
        run, shared = (
            {name: given[name] for name in cls.model_fields if name in given} for cls in (Run, Shared)
        )
        return Goal(**run, conditions=given.get("conditions", Conditions()), options=shared)

    def fleets(self) -> FleetsRequest:
        """Return what to compare for the machines one has.

        Raises
        ------
        InputError : options that these leave no choice of
        """
        asked: dict[str, Any] = {}
        for name, value in self.given().items():
            one = ONE_OF.get(name, name)
            if one not in FleetsRequest.model_fields:
                raise refusal(
                    "fleet.goes_without",
                    name,
                    "have",
                    why=Words(_WHY_NOT.get(name, ", which says what there is")),
                    known=Words(
                        ", ".join(f"--{declared(FleetsRequest)[each].name}" for each in _OF_FLEETS_TOO)
                    ),
                )
            if one != name and len(value) > 1:
                raise refusal("fleet.give_one", name, "have", count=len(value))
            asked[one] = value if one == name else value[0]
        return FleetsRequest(**asked)


def _by_name(
    option: str, name: str, unit: str, example: str, above: bool = True, label: str = ""
) -> OptionInfo:
    """Return what is special of an option that takes ``NAME=NUMBER``, several joined by commas or once each.

    Parameters
    ----------
    option : its name
    name : NODE, or LINK; a number without a link is of all links
    above : whether the number is above 0
    """

    def read(text: Any) -> tuple[tuple[str, float], ...]:
        return tuple(map(pair, _NEXT_NAME.split(str(text))))

    def pair(text: str) -> tuple[str, float]:
        from click import BadParameter

        from perfmodel.interfaces.cli.types import Quantity

        key, equals, number = text.rpartition("=")
        if (equals or name == "NODE") and not key.strip():
            expected = f"{name}={number or 'N'}" if name == "LINK" else f"{name}={unit}"
            raise BadParameter(f"{text!r}: expected {expected}, e.g. {example}")
        return key.strip(), Quantity(unit, LARGEST, above).convert(number, None, None)

    form = "NODE=USD" if name == "NODE" else "[LINK=]NUMBER"
    return OptionInfo(label, option, read=read, form=form, commas=True)


_RENTED = _by_name("price", "NODE", "USD", "dgx-h100=98.5", label="Price of a machine")
_BOUGHT = _by_name("purchase-price", "NODE", "USD", "dgx-h100=350000", label="Purchase of a machine")
_ADAPTER = _by_name("adapter-price", "LINK", "USD", "ib-ndr-400g=1500")
_SWITCH = _by_name("switch-price", "LINK", "USD", "ib-ndr-400g=20000", above=False)
_PORTS = _by_name("switch-ports", "LINK", "1", "ib-ndr-400g=64")
_Numbers = tuple[Any, ...]
"""Pairs of a name and a number."""


class Typed(PlanRequest):
    """What the shell takes.

    Parameters
    ----------
    have : What you have, e.g. '8 x dgx-a100-80gb@ib-hdr-200g', NODE@LINK, or NODE@2 x LINK of two
        adapters each; what takes any GPU is NODE/ACCELERATOR@LINK.  What would more add to
        it?  Several types joined by +, or again for each.
    adapter_prices : With --have: of one network adapter that is bought, USD, e.g. ib-ndr-400g=1500.
    switch_prices : With --have: of one switch with its cables, USD; 0 where there are enough.
    switch_ports : With --have: of one switch, e.g. ib-ndr-400g=64.
    torchrun : Print the line that starts the plan chosen: one NCCL can run.
    slurm : Print a Slurm job of the plan chosen: one NCCL can run.
    """

    have: Annotated[tuple[str, ...] | None, OptionInfo(read=str, form="FLEET", commas=True)] = None  # type: ignore[assignment]
    buy: Annotated[tuple[str, ...], OptionInfo(read=str, form="WHAT", commas=True)] = ()
    prices: Annotated[_Numbers, _RENTED] = ()  # type: ignore[assignment]
    purchase_prices: Annotated[_Numbers, _BOUGHT] = ()  # type: ignore[assignment]
    adapter_prices: Annotated[_Numbers | None, _ADAPTER] = None  # type: ignore[assignment]
    switch_prices: Annotated[_Numbers | None, _SWITCH] = None  # type: ignore[assignment]
    switch_ports: Annotated[_Numbers | None, _PORTS] = None  # type: ignore[assignment]
    torchrun: Annotated[bool, OptionInfo(denied=False)] = False
    slurm: Annotated[bool, OptionInfo(denied=False)] = False

    def request(self) -> "Typed":
        """Return the request; a script needs a plan that torchrun and NCCL can run."""
        changed: dict[str, Any] = {
            name: _once(name, getattr(self, name)) for name in _NAMED if getattr(self, name)
        }
        if self.torchrun and self.slurm:
            raise refusal("plan.forms")
        if self.have:
            if self.script:
                raise refusal("plan.scripts_have")
            changed["have"] = " + ".join(self.have)
        if self.script and not self.strategies:
            changed["strategies"] = ("all-reduce",)
        return self.model_copy(update=changed)

    @property
    def script(self) -> bool:
        """Whether what starts a plan is wanted."""
        return self.torchrun or self.slurm


_NAMED = ("prices", "purchase_prices", "adapter_prices", "switch_prices", "switch_ports")


def _once(name: str, given: Sequence[Sequence[tuple[str, float]]]) -> dict[str, float]:
    """Return numbers by name, of which none is given twice."""
    numbers: dict[str, float] = {}
    for key, number in chain.from_iterable(given):
        if key in numbers and name in Run.model_fields:
            raise refusal("plan.node_twice", declared(Run)[name].name, node=key)
        if key in numbers:
            every = "the ports of all are" if name == "switch_ports" else "the price of all is"
            raise refusal("fleet.given_twice", name, value=f"{key} is" if key else every)
        numbers[key] = number
    return numbers


def run(request: PlanRequest, context: Context) -> "Plans | Fleets":
    """Search what to hire for a run: the cheapest in time, the fastest within budget, and why not others.

    With ``have`` instead compare what may be bought for those machines, as ``fleets`` does.

    Raises
    ------
    InputError : something unknown or impossible; no plan at all

    Examples
    --------
    >>> from perfmodel import plan
    >>> plans = plan("resnet50", epochs=90, deadline="24h", accelerators="v100-sxm2-16gb", max_gpus=32)
    >>> plans.chosen.run_time < 86400, plans.chosen.cost == min(each.cost for each in plans.front)
    (True, True)
    """
    from perfmodel.decide.planning import search
    from perfmodel.decide.planning.plans import Plans

    if request.have is not None:
        return fleets.run(request.fleets(), context)
    given = request.given()
    for name in OF_FLEETS:
        if name in given:
            raise refusal("fleet.say_have", name, "have")
    if request.limit is None and request.offset:
        raise refusal("page.offset", "offset", "limit", offset=request.offset)
    result = search(request.goal(), context.catalogue, context.constants)
    return Plans.of(result, request.limit, request.offset)


def text(answer: "Plans | Fleets", request: Typed, verbose: bool = False) -> None:
    """Print the plan chosen and why not others, what starts it, or what adds to machines."""
    from perfmodel.decide.planning.plans import Plans
    from perfmodel.interfaces.cli.plan_render import show_plan, show_script

    if not isinstance(answer, Plans):
        fleets.text(answer, request)
    elif request.script:
        show_script(answer.search, request.slurm)
    else:
        show_plan(answer.search, answer.card, verbose)


def _verbose(answer: "Plans | Fleets", request: Typed) -> str:
    """Print everything that is known about the plans; the text is empty."""
    text(answer, request, verbose=True)
    return ""


def _csv(answer: "Plans | Fleets", request: Typed) -> str:
    from perfmodel.core.files.tables import csv_text

    rows = _rows(answer, request) or [{}]  # without a plan the card still says why there is none
    return csv_text(with_card(rows, answer))


def _markdown(answer: "Plans | Fleets", request: Typed) -> str:
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.decide.planning.plans import Plans

    if isinstance(answer, Plans):
        rows = markdown_table(_rows(answer, request))
        short = markdown_table([{"": label, "in short": value} for label, value in answer.card.rows])
        first, *more = answer.verdict
        return "\n\n".join(part.rstrip() for part in (f"**{first}**", short, *more, rows) if part)
    return fleets.markdown(answer, request)


def _rows(answer: "Plans | Fleets", request: Typed) -> Sequence[Mapping[str, Any]]:
    if request.script:
        raise refusal("plan.forms")
    return answer.records()


def _page(answer: "Plans | Fleets", request: Typed, context: Context) -> Any:
    from perfmodel.decide.planning.plans import Plans
    from perfmodel.interfaces.reports.fleet import page_of_fleets
    from perfmodel.interfaces.reports.planned import page_of_plan

    if isinstance(answer, Plans):
        return page_of_plan(answer.search, context.typed, context.catalogue)
    return page_of_fleets(answer, context.typed, context.catalogue)


_ABOUT = """Every offer of the catalogue, strategy, precision and batch that fits in memory is
tried, on every count of machines up to 32 and on counts a sixteenth apart beyond;
of networks that predict the next token every layout, on counts that are powers of
two, half as many more, and the most allowed.  Of plans within 1 % of each other
one that NCCL can run is taken.  Without --epochs, --samples and --tokens the
run ends at the published target, whose epochs grow with the batch; networks that
predict the next token take the tokens of their publisher, or 20 for each parameter.
A plan is chosen where deadline and budget hold with the probability of --confidence; else
the answer names the surest, and the exit code is 1.

With --have instead: what more machines of the same kind, other ones beside them, or a faster network
add to a fleet, each with its price and the time after which it has paid back.  Unlike machines train
in step, with as many samples each (the slowest pace) and with as many as each is fast."""

COMMAND = Command(
    name="plan",
    summary="What to hire: the cheapest in time, the fastest within budget, and why not others.",
    about=_ABOUT,
    request=PlanRequest,
    typed=Typed,
    answers=("perfmodel.decide.planning.plans:Plans", "perfmodel.decide.planning.fleets.result:Fleets"),
    several="have",
    run=run,
    text=text,
    forms=forms_of(csv=_csv, markdown=_markdown)
    | {"verbose": Form("Print every figure and note.", _verbose)},
    writes={"report": report(_page)},
    status=lambda answer: int(not getattr(answer, "met", True)),
    options_file=True,
    constants=True,
    positional=("workload",),
    examples=(
        "perfmodel plan --workload resnet50 --epochs 90 --deadline 24h --budget 500",
        "perfmodel plan --workload bert-large --deadline 12h --accelerator a100-sxm4-40gb",
        "perfmodel plan --epochs 90 --node dgx-1v,dgx-a100-40gb --price dgx-1v=12",
        "perfmodel plan --workload gpt2 --samples 5e6 --instance p4d.24xlarge --max-gpus 64",
        "perfmodel plan --workload llama-3-70b --tokens 1T --deadline 60d --budget 5M --instance p5.48xlarge",
        "perfmodel plan --epochs 90 --deadline 2h --instance p3.16xlarge --confidence 95%",
        "perfmodel plan --epochs 90 --instance p4d.24xlarge --pricing on-demand,spot,reserved-1y",
        "perfmodel plan --deadline 2h --instance p3.16xlarge,p4d.24xlarge --slurm",
        "perfmodel plan --epochs 90 --budget 500 --report plan.html",
        'perfmodel plan --have "8 x dgx-a100-80gb" --workload bert-large --samples 1e9',
        'perfmodel plan --have "2 x dgx-a100" --buy "4 x dgx-a100" --workload bert-large --run-time 18h',
        'perfmodel plan --have "8 x dgx-a100-80gb" --buy "4 x dgx-h100" --purchase-price dgx-h100=350000',
        'perfmodel plan --have "8 x dgx-1v" --buy ib-hdr-200g --adapter-price 900 --switch-price 0',
    ),
    bodies={
        "ninety epochs in a day": {
            "epochs": 90,
            "deadline": "24h",
            "accelerators": ["v100-sxm2-16gb"],
            "max_gpus": 32,
        },
        **fleets.COMMAND.bodies,
    },
)
