"""How workers' gradients become updates, where that is not one update from all of them in step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from perfmodel.core import ops
from perfmodel.core.errors import refusal

UpdateStrategy = Literal[
    "async", "k-sync", "k-batch-sync", "k-async", "k-batch-async", "backup", "local-sgd", "elastic"
]
Network = Literal["all-reduce", "parameter-server"]
USUAL_LOCAL_STEPS: Final = 10
OPTIONS: Final = ("k", "local_steps", "backups")


class Kind(NamedTuple):
    """What one of these strategies is."""

    option: str | None
    """Which of ``OPTIONS`` it takes."""
    network: Network
    """How what is exchanged travels."""
    in_step: bool
    """Whether an update ends the work of all, so that nobody computes on old parameters."""
    averages: bool = False
    """Whether parameters travel, not gradients: then workers take steps of their own in between."""


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
"""Every one, by the word that ``perfmodel stragglers --variant`` has for it too."""


class Updates(NamedTuple):
    """One of these strategies, with its options; counts of workers may be arrays."""

    variant: str
    k: int | None
    """As asked, of the strategies that take it."""
    local_steps: int
    """1 but for the strategies that average."""
    backups: int | None
    """As asked."""

    @property
    def kind(self) -> Kind:
        """What is known of the strategy."""
        return KINDS[self.variant]

    def awaited(self, workers: Any) -> Any:
        """Return the gradients, or visits of workers, that an update waits for.

        >>> Updates("backup", None, 1, 2).awaited(8), Updates("k-async", None, 1, None).awaited(8)
        (6, 4)
        """
        if self.kind.option == "k":
            return ops.maximum(1, workers // 2) if self.k is None else self.k
        if self.variant == "backup":
            return workers - (ops.minimum(1, workers - 1) if self.backups is None else self.backups)
        return 1 if self.variant in ("async", "elastic") else workers

    def in_step(self, workers: Any) -> Any:
        """Return whether an update ends the work of all: also where K-async waits for everybody.

        >>> Updates("k-async", 8, 1, None).in_step(8), Updates("k-async", 4, 1, None).in_step(8)
        (True, False)
        """
        return self.awaited(workers) == workers if self.variant == "k-async" else self.kind.in_step

    def exchanges(self, workers: Any) -> Any:
        """Return how often whole gradients travel in the time that as many gradients take as workers.

        >>> Updates("local-sgd", None, 10, None).exchanges(8), Updates("k-sync", 4, 1, None).exchanges(8)
        (0.1, 2.0)
        """
        if self.kind.in_step and not self.kind.averages:
            return workers / self.awaited(workers)
        return 1 / self.local_steps

    def settled(self, workers: int) -> Updates:
        """Return it with what it takes of so many workers."""
        return self._replace(**self.options(workers))

    def options(self, workers: int) -> dict[str, Any]:
        """Return what the strategy takes, with its value."""
        awaited = int(self.awaited(workers))
        known = {"k": awaited, "local_steps": self.local_steps, "backups": workers - awaited}
        return {} if self.kind.option is None else {self.kind.option: known[self.kind.option]}


def network_of(strategy: str) -> str:
    """Return how the gradients of a strategy travel.

    >>> network_of("async"), network_of("local-sgd"), network_of("all-reduce")
    ('parameter-server', 'all-reduce', 'all-reduce')
    """
    return KINDS[strategy].network if strategy in KINDS else strategy


def updates_of(
    strategy: str, k: int | None, local_steps: int | None, backups: int | None, workers: int
) -> Updates | None:
    """Return how the gradients of so many workers become updates; None of strategies in step with all.

    Parameters
    ----------
    strategy, k, local_steps, backups : of a scenario
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
