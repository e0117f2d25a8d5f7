"""Options of the page Add machines, and the request of ``perfmodel plan --have`` that they make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

from app import placeholders, session_hardware
from app.names import shown
from app.options import SAME, YES_OR_NO, Option, convert, offered, options, text_of, values, whole_of
from app.plan_form import BETWEEN, joined_by_commas
from perfmodel.core.errors import InputError
from perfmodel.decide.planning.fleets.market import CONDITIONS
from perfmodel.decide.planning.fleets.proposals import half_of, machines_to_add
from perfmodel.decide.planning.fleets.written import joined, read_fleet
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli.types import COUNT, Names
from perfmodel.interfaces.commands.fleets import FleetsRequest
from perfmodel.interfaces.commands.plan import ONE_OF
from perfmodel.workloads.workload import Workload

PAGE = "fleets"
LARGEST_LIST = 16
"""Most numbers of machines to add."""
_SHELL = options("plan")
PRICES = {
    "price": "e.g. dgx-h100=60",
    "purchase-price": "e.g. dgx-h100=350000",
    "adapter-price": "e.g. ib-ndr-400g=1500",
    "switch-price": "e.g. ib-ndr-400g=20000",
    "switch-ports": "e.g. ib-ndr-400g=64",
}
"""Option that the shell has once for each machine or link -> example."""


def _own(option: Option, **more: Any) -> Option:
    """Return an option with a session key of this page's own."""
    return option._replace(session=f"{PAGE}-{option.name}", **more)


MACHINE = _own(options()["node"]._replace(name="machine"), label="Machines you have", usual="which?")
MACHINES = _own(whole_of("machines", "How many of them you have."), label="How many", usual="1 (default)")
LINK = _own(options()["inter-link"], label="Network between them", usual="the machines' own (default)")
HAVE = _own(
    _SHELL["have"],
    label="Other machines of yours",
    usual="e.g. 2 x dgx-h100",
    help="Machines of another type that train with them, several joined by +.",
)
ADD = _own(
    options()["node"]._replace(name="add", kind="choices", offers="same or nodes"),
    label="Which to add",
    usual="the same and faster",
    help="Machines to add, each as an option of its own.  [default: the same, and the next faster ones]",
    choices=offered("same or nodes", Catalogue.built_in()),
    shows=lambda id: "the same machine only" if id == SAME else shown(id, session_hardware.catalogue()),
)
HOW_MANY = _own(
    text_of("how-many", Names(COUNT), "", "How many of each to add, e.g. 4, or 2,4,8 to compare numbers."),
    label="How many to add",
    usual="half as many (default)",
)
NETWORKS = _own(
    options()["inter-link"]._replace(name="networks", kind="choices"),
    label="A faster network for all",
    usual="none",
    help="Networks to compare, for all machines instead of the present one.",
)
BUY = _own(
    _SHELL["buy"],
    label="Other additions",
    usual="e.g. 4 x dgx-h100 + ib-ndr-400g",
    help="Machines, a network for all, or both joined by +; several options joined by commas.",
)
OF_FLEET = (MACHINE, MACHINES, LINK, HAVE, ADD, HOW_MANY, NETWORKS, BUY)
"""Options of the machines one has, and of those to add."""
BATCH = "global-batch-size"
BATCH_HELP = "Samples of a step over all GPUs, the same before and after; without it each GPU keeps its own."
RUN_TIME = "run-time"
"""Name of the option of what a run takes on the machines one has."""


def known() -> dict[str, Option]:
    """Return the options of ``perfmodel plan --have`` that the page has, by name: all but ``OF_FLEET``."""
    result = {}
    for name, option in _SHELL.items():
        field = str(option.parameter.name)
        one = ONE_OF.get(field, field)
        taken = {*FleetsRequest.model_fields, *CONDITIONS} - {"have", "buy"}
        if option.parameter.metavar == "FILE" or one not in taken:
            continue
        if name in PRICES:
            option = joined_by_commas(option, PRICES[name])
        if name == "epochs":
            option = option._replace(usual="not set")
        if name == BATCH:
            option = options()[name]._replace(label="Batch of the whole job", help=BATCH_HELP)
        result[name] = option if name == "workload" else _own(option if one == field else options()[name])
    return result


KNOWN = known()
MONEY = (*PRICES, "hour-value", *(name for name, one in KNOWN.items() if one.parameter.name in CONDITIONS))
"""Names of the options of prices."""


_OF_ONE_KIND = re.compile(r"(\d+) x ([^/@ ]+)@(\S+)")
"""Machines without another accelerator, with their network, as ``--have`` takes them."""


def query_of(command: str) -> dict[str, str]:
    """Return the query of the page that asks what a command ``perfmodel plan --have`` asks.

    >>> query_of('perfmodel plan --have "4 x dgx-1v@ib-edr-100g" --buy ib-hdr-200g')
    {'machines': '4', 'machine': 'dgx-1v', 'inter-link': 'ib-edr-100g', 'networks': 'ib-hdr-200g'}
    """
    given: dict[str, list[str]] = {}
    for word in shlex.split(command)[2:]:
        if word.startswith("--"):
            values = given.setdefault(word.removeprefix("--"), [])
        else:
            values.append(word)
    (have,), links = given.pop("have"), given.pop("buy", [])
    kind = _OF_ONE_KIND.fullmatch(have)
    names = MACHINES.name, MACHINE.name, LINK.name
    query = dict(zip(names, kind.groups(), strict=True)) if kind else {HAVE.name: have}
    if links:
        query[NETWORKS.name] = ",".join(links)
    return query | {name: ",".join(values) or YES_OR_NO[0] for name, values in given.items()}


class Asked(NamedTuple):
    """The question that the chosen options ask."""

    have: str
    """Machines one has, as ``--have`` takes them."""
    buy: tuple[str, ...]
    """Options to add, as ``--buy`` takes them."""
    picked: dict[str, Any]
    """The other options of the command."""

    def fields(self) -> dict[str, Any]:
        """Return what goes to the command in another form than the option's value."""
        more: dict[str, Any] = {"have": self.have}
        if self.buy:
            more["buy"] = list(self.buy)
        for name in PRICES.keys() & self.picked.keys():
            named = convert(KNOWN[name], self.picked[name])
            more[str(KNOWN[name].parameter.name)] = dict(chain.from_iterable(named))
        money = [name for name in MONEY if KNOWN[name].parameter.name in CONDITIONS]
        if conditions := values(self.picked, money, "plan"):
            more["conditions"] = conditions
        return more

    def names(self) -> list[str]:
        """Return the options whose values go to the command as they are."""
        return [name for name, one in KNOWN.items() if name not in MONEY or name == "hour-value"]

    def values(self) -> dict[str, Any]:
        """Return the other options, with a choice that the command takes several of as a tuple."""
        several = {name for name in self.picked if name in KNOWN and _SHELL[name].kind == "choices"}
        return {name: (value,) if name in several else value for name, value in self.picked.items()}


def asked(picked: Mapping[str, Any], catalogue: Catalogue) -> Asked:
    """Return the question that chosen options ask.

    Raises
    ------
    InputError : no machines; an unknown name; machines that cannot be joined
    """
    have = _have(picked)
    rest = {name: value for name, value in picked.items() if name in KNOWN}
    return Asked(have, tuple(_buy(picked, have, catalogue)), rest)


def assumed_batch(picked: Mapping[str, Any], network: Workload | None, catalogue: Catalogue) -> str:
    """Return what an empty batch of the whole job means, as a placeholder.

    Parameters
    ----------
    picked : newest values of the page's options
    network : that is trained; None if unknown
    """
    if picked.get("local-batch-size") is not None:
        return "by the batch per GPU"
    try:
        gpus = sum(group.gpus for group in joined(read_fleet(_have(picked), catalogue), catalogue).groups)
    except InputError:
        return "by default"
    return "by default" if network is None else placeholders.assumed_batch(network, gpus)


def _have(picked: Mapping[str, Any]) -> str:
    """Return the machines one has, as ``--have`` takes them."""
    link = f"@{picked[LINK.name]}" if LINK.name in picked else ""
    chosen = (
        [f"{picked.get(MACHINES.name, 1)} x {picked[MACHINE.name]}{link}"] if MACHINE.name in picked else []
    )
    typed = [part.strip() for part in str(picked.get(HAVE.name, "")).split(",") if part.strip()]
    if not chosen and not typed:
        raise InputError(f"Which machines do you have? Choose “{MACHINE.label}”.")
    return " + ".join([*chosen, *typed])


def _buy(picked: Mapping[str, Any], have: str, catalogue: Catalogue) -> list[str]:
    """Return what to add, as ``--buy`` takes it; empty where the command proposes it."""
    kinds, counts = picked.get(ADD.name, ()), picked.get(HOW_MANY.name)
    links, typed = picked.get(NETWORKS.name, ()), picked.get(BUY.name, "")
    others = [*links, *(part.strip() for part in BETWEEN.split(typed) if part.strip())]
    if not kinds and counts is None:
        return others
    fleet = joined(read_fleet(have, catalogue), catalogue)
    same, *faster = machines_to_add(fleet, catalogue)
    kinds = tuple(same if kind == SAME else kind for kind in kinds) or (same, *faster)
    numbers = (half_of(fleet),) if counts is None else convert(HOW_MANY, counts)
    if len(numbers) > LARGEST_LIST:
        raise InputError(f"“{HOW_MANY.label}”: {len(numbers)} numbers; expected at most {LARGEST_LIST}")
    return [*(f"{count} x {kind}" for kind in kinds for count in numbers), *others]
