"""``perfmodel.fleets``: what more machines, other ones or a faster network add, cost and pay back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.records.arguments import NAMES, TABLE, TEXT, expect
from perfmodel.core.units import parse
from perfmodel.decide.planning.fleets import Fleets, Job, Length, Market
from perfmodel.decide.planning.fleets import fleets as compared
from perfmodel.decide.planning.fleets.market import ANY, CONDITIONS
from perfmodel.decide.planning.fleets.written import node_id
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import LARGEST, Conditions
from perfmodel.model.setting.named import id_of

if TYPE_CHECKING:
    from typing import Unpack

    from perfmodel.model.fitted.calibration import Calibration
    from perfmodel.model.options.keywords import RunOptions

OPTIONS = {
    "prices": "--price",
    "purchase_prices": "--purchase-price",
    "adapter_prices": "--adapter-price",
    "switch_prices": "--switch-price",
    "switch_ports": "--switch-ports",
}
"""Of the command, by parameter."""


def fleets(
    have: str,
    buy: str | Sequence[str] = (),
    *,
    workload: str = "resnet50",
    epochs: float | None = None,
    samples: float | str | None = None,
    tokens: float | str | None = None,
    deadline: float | str | None = None,
    precision: str | None = None,
    algorithm: str | None = None,
    strategy: str | None = None,
    local_batch_size: int | None = None,
    global_batch_size: int | None = None,
    prices: Mapping[str, float] | None = None,
    purchase_prices: Mapping[str, float] | None = None,
    adapter_prices: Mapping[str, float] | float | None = None,
    switch_prices: Mapping[str, float] | float | None = None,
    switch_ports: Mapping[str, float] | float | None = None,
    hour_value: float | str | None = None,
    conditions: Conditions | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    **options: Unpack[RunOptions],
) -> Fleets:
    """Compare what may be bought for a fleet: how much faster it is, what it costs, when it pays back.

    Unlike machines train one job in step, by all-reduce: with as many samples each, so that the slowest
    pace the others, and with as many as each is fast.

    Parameters
    ----------
    have : machines, such as ``8 x dgx-a100-80gb@ib-hdr-200g``; of several kinds joined by ``+``
    buy : options: ``4 x dgx-h100``, ``ib-ndr-400g`` for all machines, or both joined by ``+``; by default
        more of the same, faster networks and newer machines
    workload, precision, algorithm, strategy : of the job, as for ``predict``
    local_batch_size, global_batch_size : likewise
    epochs, samples, tokens : length of a run, one of them
    deadline : of a run [s], or a text such as ``"3 days"``
    prices : rent of one machine [USD/h], by name
    purchase_prices : of one machine [USD], by name, instead of a rent
    adapter_prices, switch_prices : of one [USD], by link or for all
    switch_ports : of one switch, by link or for all
    hour_value : of the work of the fleet as it is [USD/h]; by default the rent of such machines
    conditions : region, service years, share of the time at work, electricity; no others
    catalogue, constants : as for ``predict``
    options : of the job, as ``plan`` takes them

    Raises
    ------
    InputError : something unknown, a price that is none, a condition that a fleet does not mind, a job that
        does not fit

    Examples
    --------
    >>> answer = fleets("8 x dgx-a100-80gb", ["4 x dgx-a100-80gb", "4 x dgx-h100"], workload="bert-large")
    >>> [(one.option, one.policy) for one in answer.options][1:]
    [('4 x dgx-h100', 'slowest paces'), ('4 x dgx-h100', 'shares by speed')]
    >>> answer.options[1].ratio.value < answer.options[2].ratio.value
    True
    """
    expect(TEXT, have=have)
    wanted = (buy,) if isinstance(buy, str) else buy
    expect(NAMES, buy=wanted)
    expect(TABLE.or_none, prices=prices, purchase_prices=purchase_prices)
    catalogue = Catalogue.of(catalogue)
    rents = _of_machines("prices", prices or {}, catalogue)
    bought = _of_machines("purchase_prices", purchase_prices or {}, catalogue)
    for both in rents.keys() & bought.keys():
        raise refusal("price.exclusive_of", both=both)
    job_options: dict[str, Any] = {
        "workload": workload,
        "precision": precision,
        "algorithm": algorithm,
        "strategy": strategy,
        "local_batch_size": local_batch_size,
        "global_batch_size": global_batch_size,
        **options,
    }
    job = Job({name: value for name, value in job_options.items() if value is not None}, catalogue, constants)
    market = Market(
        rents,
        bought,
        _of_links("adapter_prices", adapter_prices, catalogue),
        _of_links("switch_prices", switch_prices, catalogue, from_zero=True),
        _ports(switch_ports, catalogue),
        _amount("hour_value", hour_value, "USD"),
        _of_fleets(Conditions() if conditions is None else Conditions.model_validate(conditions)),
    )
    length = Length(
        _amount("epochs", epochs, "1"),
        _amount("samples", samples, "count of samples"),
        _amount("tokens", tokens, "count of tokens", 1e18),
    )
    return compared(job, have, tuple(map(str, wanted)), market, length, _amount("deadline", deadline, "s"))


def _of_fleets(conditions: Conditions) -> Conditions:
    """Return conditions, none of which is one that changes nothing of a fleet."""
    for name in conditions.model_fields:
        if getattr(conditions, name) is not None and name not in CONDITIONS:
            option = {"node_failure_interval": "node-mtbf"}.get(name, name.replace("_", "-"))
            raise refusal("fleet.needless", option)
    return conditions


def _amount(
    name: str, given: object, unit: str, largest: float = LARGEST, from_zero: bool = False
) -> float | None:
    if given is None:
        return None
    known = isinstance(given, (str, int, float)) and not isinstance(given, bool)
    if isinstance(given, str) and unit != "1":
        value = parse(given, unit)
    else:
        value = float(given) if known and not isinstance(given, str) else float("nan")  # type: ignore[arg-type]
    if not (0 < value <= largest or (from_zero and value == 0)):
        raise refusal("fleet.price_range", name, given=given, largest=largest)
    return value


def _of_machines(name: str, given: Mapping[str, float], catalogue: Catalogue) -> dict[str, float]:
    result: dict[str, float] = {}
    for machine, price in given.items():
        expect(TEXT, **{name: machine})
        try:
            node = node_id(machine, catalogue)
        except InputError as error:
            raise error.under(name, machine, said=f"{OPTIONS[name]} {machine}") from None
        if node in result:
            raise refusal("fleet.machine_twice", OPTIONS[name], machine=machine, node=node)
        result[node] = _amount(f"{name} of {machine}", price, "USD") or 0.0
    return result


def _of_links(name: str, given: object, catalogue: Catalogue, from_zero: bool = False) -> dict[str, float]:
    if given is None:
        return {}
    each = given if isinstance(given, Mapping) else {ANY: given}
    result: dict[str, float] = {}
    for link, value in each.items():
        expect(TEXT, **{name: link})
        try:
            key = id_of("links between nodes", link, catalogue) if link else ANY
        except InputError as error:
            raise error.under(name, link, said=f"{OPTIONS[name]} {link}") from None
        if key in result:
            raise refusal("fleet.link_twice", OPTIONS[name], link=link or "the number for all")
        result[key] = _amount(f"{name} of {link or 'all'}", value, "USD", from_zero=from_zero) or 0.0
    return result


def _ports(given: object, catalogue: Catalogue) -> dict[str, float]:
    ports = _of_links("switch_ports", given, catalogue)
    for link, count in ports.items():
        if count < 2 or count != int(count):
            of_link = f"{link}=" if link else ""
            raise refusal("switch.ports_whole", of_link=of_link, count=count)
    return ports
