"""A case of a sensitivity analysis: a setting with factors on some numbers, its time and cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.traced_run import tracing
from perfmodel.core.tracing.tracing import Trace
from perfmodel.decide.economics import Servers, idle_power, rates
from perfmodel.decide.failures import states_bytes
from perfmodel.decide.prices import OWN, Price
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.setting.leaves import WHILE_TRACING, Reaches, everything, with_leaves
from perfmodel.model.setting.network_leaves import Change
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import outcome
from perfmodel.model.step.terms import of_kind


class Names:
    """Names of numbers of ``leaves``; a name that ends in a star matches all with that beginning."""

    def __init__(self, names: Iterable[str]) -> None:
        self.exact = frozenset(names)
        self.beginnings = tuple(name.removesuffix("*") for name in names if name.endswith("*"))

    @property
    def are_read_while_tracing(self) -> bool:
        """Whether some of the numbers belong neither to a setting nor to its constants."""
        return any(name.startswith(WHILE_TRACING) for name in self.exact)

    def __contains__(self, name: str) -> bool:
        return name in self.exact or name.startswith(self.beginnings)

    def reach(self, beginning: str) -> bool:
        """Return whether some name with this beginning may be among them."""
        return beginning.startswith(self.beginnings) or any(name.startswith(beginning) for name in self.exact)


class Case(NamedTuple):
    """A setting, constants, prices and conditions from which time and cost follow."""

    setting: Setting
    constants: Calibration
    conditions: Conditions = Conditions()
    price: Price | None = None
    """Price of one node; None where unknown, so that there is no cost."""
    server_price: Price | None = None
    """Price of one parameter server's machine; None where unknown."""
    server_accelerator: Accelerator | None = None
    """The accelerator of a parameter server of another machine type, if any."""
    factors: tuple[tuple[Names, float], ...] = ()
    """Factors on numbers of ``perfmodel.model.setting.leaves``."""

    def multiplied(self, value: Any, name: str, _: str) -> Any:
        """Return a number times the factors on its name."""
        for names, factor in self.factors:
            if name in names:
                value = value * factor
        return value

    def reaches(self, beginning: str) -> bool:
        """Return whether a factor applies to some number whose name begins so."""
        return any(names.reach(beginning) for names, _ in self.factors)


class Answer(NamedTuple):
    """Time and cost of a case."""

    iteration_time: Any
    """[s]"""
    cost_per_sample: Any
    """Including failures [$]; None where the price is unknown."""


@contextmanager
def with_numbers(case: Case, change: Change, reaches: Reaches = everything) -> Iterator[Case]:
    """Yield a case with every number replaced by the result of ``change``.

    Caches are used where ``change`` only applies factors to plain numbers of the setting and its constants.
    """
    is_plain = change == case.multiplied and not any(
        names.are_read_while_tracing for names, _ in case.factors
    )
    with nullcontext(Trace()) if is_plain else tracing() as trace:
        leaves = with_leaves(case.setting, case.constants, change, reaches)
        trace.learned.update(leaves.learned)
        prices: dict[str, Any] = {
            name: price and price._replace(usd_per_hour=change(price.usd_per_hour, name, "the price list"))
            for name, price in (("price", case.price), ("server_price", case.server_price))
        }
        yield case._replace(setting=leaves.setting, constants=leaves.constants, factors=(), **prices)


def answer(case: Case) -> Answer:
    """Return the iteration time and the cost per sample of a case."""
    if case.factors:
        with with_numbers(case, case.multiplied, case.reaches) as changed:
            return answer(changed)
    setting = case.setting
    step = outcome(setting, case.constants)
    time = ops.number(step.iteration_time)
    if case.price is None or (setting.servers and case.server_price is None):
        return Answer(time, None)
    result = rates(
        time,
        of_kind(step.terms, "busy"),
        of_kind(step.terms, "network"),
        setting.world_size,
        setting.nodes,
        rated_power=setting.accelerator.tdp.value if setting.accelerator.tdp else None,
        usd_per_hour=case.price.usd_per_hour,
        conditions=case.conditions,
        own_electricity=case.price.basis in OWN,
        servers=servers_of(case),
        checkpoint_bytes=states_bytes(setting.workload.parameters, setting.optimizer),
    )
    kept = ops.number(result.goodput)
    if not kept > 0:
        return Answer(time, None)
    return Answer(time, ops.number(result.cost) * time / (kept * setting.global_batch_size))


def servers_of(case: Case) -> Servers:
    """Return number, price and idle power of a case's parameter servers."""
    setting, price = case.setting, case.server_price
    same_machine = setting.server_node.id == setting.node.id
    accelerator = setting.accelerator if same_machine else case.server_accelerator
    idle = idle_power(setting.server_node.accelerators, accelerator)
    return Servers(setting.servers, price.usd_per_hour if price else None, idle)
