"""The wait for the slowest worker, and its effect on each variant of SGD."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from perfmodel.core.errors import InputError, MissingPackage, refusal
from perfmodel.core.files.tables import Record, Rows, aligned
from perfmodel.core.units import plural, show
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.distributions import parse_distribution
from perfmodel.equations.sgd_variants import (
    AVERAGING,
    VARIANTS,
    StragglerPrediction,
    straggler_variant,
    sync_over_async,
)

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.sgd_error_bound import ErrorCurves

USUAL = {"shifted-exponential": "shift=1,rate=1", "exponential": "rate=1"}
"""Default parameters of distributions named without any."""


@dataclass(frozen=True)
class OrderStatistic:
    """The time of the k-th fastest of some workers."""

    mean: float
    """[s]"""
    variance: float | None
    """[s^2]; None where it does not exist."""

    @classmethod
    def of(cls, law: Distribution, k: int, n: int) -> OrderStatistic:
        """Return the order statistic of a distribution of one worker's time.

        Raises
        ------
        InputError : k or n out of its range, a mean that does not exist
        """
        from perfmodel.equations.order_statistics import order_statistic

        mean, variance = (float(moment) for moment in order_statistic(law, k, n))
        return cls(mean, variance if variance < float("inf") else None)

    def records(self) -> list[Record]:
        """Return one row."""
        return [asdict(self)]

    def to_json(self) -> str:
        """Return it as JSON, as ``perfmodel stragglers --order-statistic --json`` prints it."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, repr=False)
class Stragglers(Rows):
    """Every variant of SGD under one distribution of a worker's time."""

    rows: tuple[StragglerPrediction, ...]
    distribution: Distribution
    """Distribution of one worker's time for one gradient."""
    workers: int
    left_out: dict[str, str]
    """Variants that need a missing optional package -> how to install it."""

    @property
    def sync_over_async(self) -> tuple[float, float]:
        """Time of a synchronous update, and of a gradient, over those of asynchronous SGD."""
        return sync_over_async(self.distribution, self.workers)

    def error_curves(self, learning_rate: float = 0.05) -> ErrorCurves:
        """Return bounds on the error against wall clock, for the objective of the published examples.

        Raises
        ------
        InputError : a learning rate that is not above 0 and at most 1; no variant with a bound
        """
        from perfmodel.model.prediction.training.sgd_error_bound import error_curves

        return error_curves(self.rows, learning_rate)

    def to_json(self) -> str:
        """Return a JSON list of the rows, as ``perfmodel stragglers --json`` prints it."""
        return json.dumps(self.records())

    def __repr__(self) -> str:
        rows = [
            (
                row.variant,
                show(row.update_time, "s"),
                str(row.gradients_per_update),
                show(row.time_per_gradient, "s"),
                f"{row.mean_staleness:.2f}",
                row.status,
            )
            for row in self.rows
        ]
        headings = ("variant", "per update", "gradients", "per gradient", "staleness", "status")
        return aligned(
            f"Stragglers: {self.workers} {plural('worker', self.workers)}, {self.distribution}",
            headings,
            rows,
        )


def variants_of(
    variant: str,
    law: Distribution,
    workers: int,
    *,
    k: int | None = None,
    backups: int | None = None,
    local_steps: int = 10,
    communication_time: float = 0.0,
    server_time: float = 0.0,
) -> Stragglers | StragglerPrediction:
    """Return the prediction of one variant of SGD, or for ``all`` a table of all variants.

    Parameters
    ----------
    k, backups : gradients an update waits for; or instead, workers that ``backup`` does not wait for
    communication_time, server_time : of the exchange after the barrier [s]; of one push and pull [s]

    Raises
    ------
    InputError : k or backups out of their range, an option that the variant does not take
    """
    if backups is not None:
        _check_backups(variant, workers, k, backups)
    times = local_steps, communication_time, server_time
    if variant != "all":
        k = k if backups is None else workers - backups
        return _one(variant, law, workers, k, *times, alone=True)
    rows: list[StragglerPrediction] = []
    left_out: dict[str, str] = {}
    for name in VARIANTS:
        try:
            own = workers - backups if name == "backup" and backups is not None else k
            rows.append(_one(name, law, workers, own, *times, alone=False))
        except MissingPackage as error:
            left_out[name] = error.note()
    return Stragglers(tuple(rows), law, workers, left_out)


def _check_backups(variant: str, workers: int, k: int | None, backups: int) -> None:
    """Refuse backup workers of other variants, too many of them, or together with k."""
    if variant not in ("backup", "all"):
        raise refusal("updates.backups_of", variant=variant)
    if backups >= workers:
        raise refusal("updates.backups_range", backups=backups, workers=workers, most=workers - 1)
    if k is not None and variant == "backup":
        raise refusal("updates.k_and_backups")


def law_from(
    distribution: str | Distribution, params: Mapping[str, float | str] | None = None
) -> Distribution:
    """Return a distribution as it is, or parse a name or text, with additional parameters.

    Raises
    ------
    InputError : an unknown distribution; missing, unknown or redundant parameters

    >>> str(law_from("exponential", {"rate": 2}))
    'exponential:rate=2'
    """
    if not isinstance(distribution, str):
        if params:
            raise refusal("distribution.given_params", "params")
        return distribution
    law = with_params(distribution, [f"{name}={value}" for name, value in (params or {}).items()])
    try:
        return parse_distribution(f"{law}:{USUAL[law]}" if law in USUAL else law)
    except InputError as error:
        raise (error if params else error.under("distribution", said="")) from None


def with_params(law: str, params: Sequence[str]) -> str:
    """Return the text of a distribution with additional parameters, each as ``name=value``.

    Raises
    ------
    InputError : a parameter of another form
    """
    for text in params:
        if "=" not in text:
            raise refusal("distribution.param", text=text)
    return f"{law}{',' if ':' in law else ':'}{','.join(params)}" if params else law


def _one(
    name: str,
    law: Distribution,
    workers: int,
    k: int | None,
    local_steps: int,
    common: float,
    service: float,
    *,
    alone: bool,
) -> StragglerPrediction:
    """Return one variant's prediction; unless ``alone``, without the options that it does not take."""
    takes_k = name not in ("sync", "async", *AVERAGING)
    takes_common = "async" not in name and name != "elastic"
    takes_service = name in ("async", "k-batch-async", "elastic")
    if alone and service and not takes_service:
        raise refusal("updates.server_time_of", name=name)
    return straggler_variant(
        name,
        law,
        workers,
        k=(k or max(1, workers // 2)) if takes_k else (k if alone else None),
        local_steps=local_steps if name in AVERAGING else 1,
        communication_time=common if takes_common or alone else 0.0,
        server_time=service if takes_service else 0.0,
    )
