"""Update strategies other than one synchronous update from all workers: asynchronous, K-sync, local SGD."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from perfmodel.core import ops
from perfmodel.core.errors import refusal

UpdateStrategy = Literal[
    "async", "k-sync", "k-batch-sync", "k-async", "k-batch-async", "backup", "local-sgd", "elastic"
]
Network = Literal["all-reduce", "parameter-server"]
EXAMPLE_LAW: Final = "shifted-exponential"
"""Distribution of a worker's time where none is given: an example."""
USUAL_LOCAL_STEPS: Final = 10
OPTIONS: Final = ("k", "local_steps", "backups")


class Kind(NamedTuple):
    """Properties of one update strategy."""

    option: str | None
    """Which of ``OPTIONS`` it takes."""
    network: Network
    """How gradients or parameters are exchanged."""
    in_step: bool
    """Whether all workers start anew after an update, so that no gradient is stale."""
    averages: bool = False
    """Whether workers average parameters, not gradients, and take local steps in between."""


KINDS: Final[Mapping[str, Kind]] = {
    "async": Kind(None, "parameter-server", False),
    "k-sync": Kind("k", "parameter-server", True),
    "k-batch-sync": Kind("k", "parameter-server", True),
    "k-async": Kind("k", "parameter-server", False),
    "k-batch-async": Kind("k", "parameter-server", False),
    "backup": Kind("backups", "parameter-server", True),
    "local-sgd": Kind("local_steps", "all-reduce", True, averages=True),
    "elastic": Kind("local_steps", "parameter-server", False, averages=True),
}
"""Strategy -> its properties; ``perfmodel stragglers --variant`` uses the same names."""


class Updates(NamedTuple):
    """An update strategy with its options; methods take a count of workers or an array of counts."""

    variant: str
    """Key of ``KINDS``."""
    k: int | None
    """Gradients of an update; None: the strategy's default, or it takes none."""
    local_steps: int
    """Steps between two averages; 1 for strategies that exchange gradients."""
    backups: int | None
    """Workers whose gradients are dropped; None: the default, or the strategy takes none."""

    @property
    def kind(self) -> Kind:
        """Properties of the strategy."""
        return KINDS[self.variant]

    def awaited(self, workers: Any) -> Any:
        """Return the number of gradients that an update waits for.

        >>> Updates("backup", None, 1, 2).awaited(8), Updates("k-async", None, 1, None).awaited(8)
        (6, 4)
        """
        if self.kind.option == "k":
            return ops.maximum(1, workers // 2) if self.k is None else self.k
        if self.variant == "backup":
            return workers - (ops.minimum(1, workers - 1) if self.backups is None else self.backups)
        return 1 if self.variant in ("async", "elastic") else workers

    def in_step(self, workers: Any) -> Any:
        """Return whether all workers start anew after an update, as also where K-async waits for all.

        >>> Updates("k-async", 8, 1, None).in_step(8), Updates("k-async", 4, 1, None).in_step(8)
        (True, False)
        """
        return self.awaited(workers) == workers if self.variant == "k-async" else self.kind.in_step

    def exchanges(self, workers: Any) -> Any:
        """Return the exchanges of whole gradients in a round, which computes as many gradients as workers.

        >>> Updates("local-sgd", None, 10, None).exchanges(8), Updates("k-sync", 4, 1, None).exchanges(8)
        (0.1, 2.0)
        """
        if self.kind.in_step and not self.kind.averages:
            return workers / self.awaited(workers)
        return 1 / self.local_steps

    def settled(self, workers: int) -> Updates:
        """Return the strategy with its option's default filled in for a number of workers."""
        return self._replace(**self.options(workers))

    def options(self, workers: int) -> dict[str, Any]:
        """Return the option that the strategy takes with its value, by name; {} if it takes none."""
        awaited = int(self.awaited(workers))
        known = {"k": awaited, "local_steps": self.local_steps, "backups": workers - awaited}
        return {} if self.kind.option is None else {self.kind.option: known[self.kind.option]}


def network_of(strategy: str) -> str:
    """Return how a strategy exchanges gradients: ``all-reduce`` or ``parameter-server``; others unchanged.

    >>> network_of("async"), network_of("local-sgd"), network_of("all-reduce")
    ('parameter-server', 'all-reduce', 'all-reduce')
    """
    return KINDS[strategy].network if strategy in KINDS else strategy


def updates_of(
    strategy: str, k: int | None, local_steps: int | None, backups: int | None, workers: int
) -> Updates | None:
    """Return the update strategy of a scenario; None for synchronous strategies that use all gradients.

    Parameters
    ----------
    strategy, k, local_steps, backups : the scenario's options
    workers : accelerators of the job

    Raises
    ------
    InputError : an option that the strategy does not take, or more gradients or backups than workers
    """
    options = k, local_steps, backups
    if strategy not in KINDS and options == (None, None, None):
        return None
    takes = KINDS[strategy].option if strategy in KINDS else None
    for name, given in zip(OPTIONS, options, strict=True):
        if given is not None and name != takes:
            with_it = ", ".join(each for each, kind in KINDS.items() if kind.option == name)
            raise refusal("updates.strategy", name, with_it=with_it, strategy=strategy)
    if strategy not in KINDS:
        return None
    if k is not None and "batch" not in strategy and k > workers:
        raise refusal("updates.k", k=k, strategy=strategy, workers=workers)
    if backups is not None and backups >= workers:
        raise refusal("updates.backups", backups=backups, workers=workers, most=workers - 1)
    usual = USUAL_LOCAL_STEPS if takes == "local_steps" else 1
    return Updates(strategy, k, usual if local_steps is None else local_steps, backups)
