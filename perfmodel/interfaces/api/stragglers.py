"""``perfmodel.stragglers``: what the slowest worker costs, and what each variant of SGD makes of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from perfmodel.core.errors import InputError, MissingPackage, refusal, unknown_name
from perfmodel.core.files.tables import Rows, aligned
from perfmodel.core.records.arguments import COUNT, NUMBER, TABLE, TEXT, expect
from perfmodel.core.units import parse, plural, show
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.distributions import parse_distribution
from perfmodel.equations.sgd_variants import (
    AVERAGING,
    VARIANTS,
    StragglerPrediction,
    Variant,
    straggler_variant,
    sync_over_async,
)

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.sgd_error_bound import ErrorCurves

USUAL = {"shifted-exponential": "shift=1,rate=1", "exponential": "rate=1"}
"""Parameters of a law that is named without any."""


@dataclass(frozen=True, repr=False)
class Stragglers(Rows):
    """Every variant of SGD under one law of a worker's times."""

    rows: tuple[StragglerPrediction, ...]
    distribution: Distribution
    """Of one worker's time for one gradient."""
    workers: int
    left_out: dict[str, str]
    """Variants that an optional package is missing for, with what to do about it."""

    @property
    def sync_over_async(self) -> tuple[float, float]:
        """How much longer a fully synchronous update takes than an asynchronous one, and a gradient."""
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
        """Return what ``perfmodel stragglers --json`` prints of all variants: a list."""
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


@overload
def stragglers(
    variant: Literal["all"] = ...,
    *,
    workers: int = ...,
    k: int | None = ...,
    backups: int | None = ...,
    distribution: str | Distribution = ...,
    params: Mapping[str, float | str] | None = ...,
    local_steps: int = ...,
    communication_time: float | str = ...,
    server_time: float | str = ...,
) -> Stragglers: ...
@overload
def stragglers(
    variant: Variant,
    *,
    workers: int = ...,
    k: int | None = ...,
    backups: int | None = ...,
    distribution: str | Distribution = ...,
    params: Mapping[str, float | str] | None = ...,
    local_steps: int = ...,
    communication_time: float | str = ...,
    server_time: float | str = ...,
) -> StragglerPrediction: ...
def stragglers(
    variant: Variant | Literal["all"] = "all",
    *,
    workers: int = 16,
    k: int | None = None,
    backups: int | None = None,
    distribution: str | Distribution = "shifted-exponential",
    params: Mapping[str, float | str] | None = None,
    local_steps: int = 10,
    communication_time: float | str = 0.0,
    server_time: float | str = 0.0,
) -> Stragglers | StragglerPrediction:
    """Predict the time per update and per gradient, and the staleness, of variants of distributed SGD.

    Parameters
    ----------
    variant : sync, k-sync, k-batch-sync, async, k-async, k-batch-async, backup, local-sgd, elastic; of
        ``all`` a table in which each takes the options that it can
    workers : backup workers included
    k : gradients an update waits for; by default half the workers
    backups : workers of ``backup`` whose gradients an update does without, in place of ``k``
    distribution : of one worker's time for one gradient, e.g. ``"lognormal:mean=1,cv=0.1"``
    params : parameters of the distribution by name, besides those in its text
    local_steps : steps between two averages, of local-sgd, or two visits to the centre, of elastic
    communication_time : after the barrier, common to all [s], or a text such as ``"1ms"``
    server_time : a parameter server's time for one push and pull [s]; async, k-batch-async and elastic

    Raises
    ------
    InputError : an unknown variant, law or parameter, k out of its range, an option the variant does not take

    Examples
    --------
    Shifted exponential times, the first 6 of 8: 1 + (1/8 + ... + 1/3) / 2.

    >>> found = stragglers("k-sync", workers=8, k=6, distribution="shifted-exponential:shift=1,rate=2")
    >>> round(found.update_time, 9)
    1.608928571
    >>> [row.variant for row in stragglers(workers=8).rows][:3]
    ['sync', 'k-sync', 'k-batch-sync']
    """
    expect(COUNT, workers=workers, local_steps=local_steps)
    expect(COUNT.or_none, k=k)
    expect(NUMBER.or_none, backups=backups)
    law = law_from(distribution, params)
    common, service = parse(communication_time, "s"), parse(server_time, "s")
    if variant not in (*VARIANTS, "all"):
        raise unknown_name("variant", str(variant), (*VARIANTS, "all"))
    if backups is not None:
        _check_backups(variant, workers, k, backups)
    if variant != "all":
        k = k if backups is None else workers - backups
        return _one(variant, law, workers, k, local_steps, common, service, alone=True)
    rows: list[StragglerPrediction] = []
    left_out: dict[str, str] = {}
    for name in VARIANTS:
        try:
            own = workers - backups if name == "backup" and backups is not None else k
            rows.append(_one(name, law, workers, own, local_steps, common, service, alone=False))
        except MissingPackage as error:
            left_out[name] = str(error)
    return Stragglers(tuple(rows), law, workers, left_out)


def _check_backups(variant: str, workers: int, k: int | None, backups: float) -> None:
    if variant not in ("backup", "all"):
        raise refusal("updates.backups_of", variant=variant)
    if backups % 1 or not 0 <= backups < workers:
        raise refusal("updates.backups_range", backups=backups, workers=workers, most=workers - 1)
    if k is not None and variant == "backup":
        raise refusal("updates.k_and_backups")


def law_from(
    distribution: str | Distribution, params: Mapping[str, float | str] | None = None
) -> Distribution:
    """Return a distribution as it is, or that of a name or a text.

    Raises
    ------
    InputError : as ``law_of``; parameters of a distribution that has its own
    """
    expect(TABLE.or_none, params=params)
    if not isinstance(distribution, Distribution):
        expect(TEXT, distribution=distribution)
        return law_of(distribution, [f"{name}={value}" for name, value in (params or {}).items()])
    if params:
        raise refusal("distribution.given_params", "params")
    return distribution


def law_of(law: str, params: Sequence[str]) -> Distribution:
    """Return the distribution of a name or a text, with parameters besides those in it.

    Raises
    ------
    InputError : an unknown law, a parameter it lacks or does not know

    >>> str(law_of("exponential", ["rate=2"]))
    'exponential:rate=2'
    """
    for text in params:
        if "=" not in text:
            raise refusal("distribution.param", text=text)
    if params:
        joined = ",".join(params)
        law = f"{law},{joined}" if ":" in law else f"{law}:{joined}"
    elif law in USUAL:
        law = f"{law}:{USUAL[law]}"
    try:
        return parse_distribution(law)
    except InputError as error:
        raise (error if params else error.under("distribution", said="")) from None


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
    """One variant's prediction; beside the others it takes the options it can."""
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
