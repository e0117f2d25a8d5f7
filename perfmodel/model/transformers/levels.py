"""Update of a job's prediction by measured runs of the same user, whose errors are correlated.

ln(measured / predicted) of a job is the sum of four normal errors: that of its source (a user's software,
machines and method of measuring), that of its network at this source, one whose correlation between two jobs
grows with their likeness, and a rest that only the same job shares.  Runs update all four in closed form.
A job that was measured on several other numbers of accelerators follows those runs instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.least_squares import solved
from perfmodel.core.tracing.tracing import numeric
from perfmodel.equations.levels import likeness, shared_variance
from perfmodel.model.fitted.ledger_scales import FREEDOM, REPEAT, TRANSFORMERS, levels_of
from perfmodel.model.options.layout import Layout
from perfmodel.model.setting.anchor import LAYOUT_OPTIONS
from perfmodel.model.setting.resolve import Setting

NAMED = ("accelerator", "precision", "software")
"""Traits that are equal or different for two jobs."""
SIZES = ("world_size", "micro_batch_size", "sequence_length")
"""Traits whose distance is the difference of their logarithms."""
DISTANCES = (*NAMED, "layout", *SIZES)
ALIKE = (
    "lora",
    "routing_nodes",
    "expert_imbalance",
    "capacity_factor",
    "lora_targets",
    "frozen_weights",
    "document_length",
    "document_spread",
    "attention_kernel",
    "sequence_parallel",
    "recompute_modules",
    "loss",
    "gradient_precision",
    "offload",
    "rack_nodes",
    "oversubscription",
    "placement",
    "network_cap",
    "transport",
    "strategy",
    "input",
    "jitter",
    "torus_dimensions",
)
"""Other options that must be equal for two jobs to be the same."""
HELD = 4
"""Place in ``Traits.machine`` of the accelerators that the job has of each machine."""


class Traits(NamedTuple):
    """Properties that distinguish jobs; the layout, or all but the machine, may be of arrays."""

    network: str
    accelerator: str
    precision: str
    software: str
    layout: Layout
    sequence_length: Any
    machine: tuple[Any, ...] = ()
    """Other values that must be equal for two jobs to be the same; empty if unknown."""

    @property
    def sizes(self) -> tuple[Any, Any, Any]:
        """Values of ``SIZES``."""
        return self.layout.world_size, self.layout.micro_batch_size, self.sequence_length


def traits_of(setting: Setting) -> Traits:
    """Return the traits of a setting with a layout."""
    assert setting.layout is not None
    links = setting.intra_link.id, setting.inter_link.id, setting.host_link.id
    size = setting.accelerators_per_node, setting.nics, setting.connections
    options = (getattr(setting.scenario, name) for name in ALIKE)
    return Traits(
        setting.workload.id,
        setting.accelerator.id,
        setting.precision,
        setting.software,
        setting.layout,
        setting.workload.tokens,
        (setting.node.id, *links, *size, setting.optimizer, *options),
    )


class Levels(NamedTuple):
    """Learned standard deviations of the errors, and the decay of correlation with distance."""

    source: float
    """Least deviation of a source's error; it grows if the interval is wider than the other levels."""
    network: float
    row: float
    rest: float
    falls: Mapping[str, float]
    """Decrease of the logarithm of likeness per unit of each of ``DISTANCES``."""

    @property
    def within(self) -> float:
        """Variance between the jobs of one source."""
        return self.network**2 + self.row**2 + self.rest**2

    def shared(self, source_variance: Any, is_same_network: Any, apart: Mapping[str, Any]) -> Any:
        """Return the covariance of the errors of two different jobs of one source.

        Parameters
        ----------
        source_variance : variance of the source's error, common to both
        is_same_network : 1 if both train the same network, else 0
        apart : distance of the two jobs by each of ``DISTANCES``
        """
        distance: Any = sum(self.falls[name] * by for name, by in apart.items())
        return shared_variance(source_variance, self.network * is_same_network, self.row, likeness(distance))

    def of_source(self, spread: Any) -> Any:
        """Return the standard deviation of a source's error, given that of the whole error."""
        return np.sqrt(np.maximum(np.square(spread) - self.within, self.source**2))


@cache
def learned(without: str | None = None) -> Levels:
    """Return the shipped levels, or those learned without one source."""
    table = levels_of(TRANSFORMERS)
    return Levels(**(table["without"].get(without) or table["all"]))


class Run(NamedTuple):
    """A measured run; numbers, or arrays of shape (jobs,)."""

    traits: Traits
    spread: Any
    """Standard deviation of its error before any measurement."""
    miss: Any
    """ln(measured / predicted), the mean over repeats."""
    noise: float = REPEAT
    """Standard deviation of one repeat."""
    repeats: int = 1


class Update(NamedTuple):
    """Update of a job's prediction by measured runs; numbers, or arrays of shape (jobs,)."""

    shift: Any
    """Shift of the logarithm of its time."""
    left: Any
    """Remaining variance of its error."""
    again: Any
    """Variance between its repeats if the job itself was measured; else 0."""
    runs: Sequence[Run]
    follows_runs: Any = False
    """Whether ``shift`` is that of ``series_shift``."""

    def spread(self, stretch: Any = 1.0) -> Any:
        """Return the standard deviation of its error, with the part other than repeats times ``stretch``."""
        return np.sqrt(self.left * np.square(stretch) + self.again)


def apart(one: Traits, other: Traits) -> dict[str, Any]:
    """Return the distance of two jobs by each of ``DISTANCES``."""
    result: dict[str, Any] = {
        name: np.asarray(getattr(one, name) != getattr(other, name), float) for name in NAMED
    }
    differ = (getattr(one.layout, name) != getattr(other.layout, name) for name in LAYOUT_OPTIONS)
    result["layout"] = sum(np.asarray(each, float) for each in differ) / 2
    ratios = (np.log(a * 1.0) - np.log(b * 1.0) for a, b in zip(one.sizes, other.sizes, strict=True))
    return result | {name: abs(each) for name, each in zip(SIZES, ratios, strict=True)}


def is_same(one: Traits, other: Traits) -> Any:
    """Return 1 if two jobs agree in all known traits, else 0."""
    if not one.machine or one._replace(layout=other.layout) != other:
        return 0.0
    same: Any = True
    for a, b in zip(one.layout, other.layout, strict=True):
        same = same & (np.asarray(a) == b)
    return np.asarray(same, float)


def is_same_work(one: Traits, other: Traits) -> Any:
    """Return 1 if two jobs differ in the number of replicas alone, on machines filled alike, else 0."""
    if not (one.machine and other.machine):
        return 0.0
    most = np.maximum(one.machine[HELD], other.machine[HELD])
    alike: Any = True
    for each in (one, other):
        alike = alike & (np.minimum(each.layout.world_size, most) == each.machine[HELD])
    layout = other.layout._replace(data_parallel=one.layout.data_parallel)
    machine = (*other.machine[:HELD], one.machine[HELD], *other.machine[HELD + 1 :])
    return is_same(one, other._replace(layout=layout, machine=machine)) * alike


def series_shift(job: Traits, runs: Sequence[Run]) -> tuple[Any, Any]:
    """Return the shift of a job by runs of it on other numbers of accelerators, and whether there are two.

    The shift runs straight in log2(accelerators) from each run's ln(measured / predicted) to the next, and
    stays as it is beyond the first and the last: what a job is known to lose, it loses on more accelerators
    too.

    Published series of one job on three numbers at least (14 sources, each predicted by a fit to the others,
    1,088 runs, each left out in turn) are missed by 2.3 % (mean of the sources), by the four errors alone by
    2.5 %; the last of a series by 2.7 % and 3.3 %, those between by 1.9 % and 1.8 %.  Intervals of the four
    errors hold 94 % and 95 %, of the last 90 % and 92 %.
    """
    here = np.log2(job.layout.world_size)[..., None]
    known = _stacked([is_same_work(job, run.traits) for run in runs]) > 0
    sizes = _stacked([np.log2(run.traits.layout.world_size) for run in runs])
    known, sizes, misses, here = np.broadcast_arrays(known, sizes, _stacked([run.miss for run in runs]), here)
    below = np.where(known & (sizes <= here), sizes, -np.inf)
    above = np.where(known & (sizes >= here), sizes, np.inf)
    ends = [place[..., None] for place in (below.argmax(-1), above.argmin(-1))]
    (low, high), (first, last) = (
        [np.take_along_axis(of, place, -1)[..., 0] for place in ends] for of in (sizes, misses)
    )
    has_low, has_high = np.isfinite(below).any(-1), np.isfinite(above).any(-1)
    share = np.where(
        has_low & has_high, (here[..., 0] - low) / np.where(high > low, high - low, 1.0), ~has_low
    )
    least, most = np.where(known, sizes, np.inf).min(-1), np.where(known, sizes, -np.inf).max(-1)
    return first + share * (last - first), most > least


def covariance(one: Traits, other: Traits, source_variance: Any, levels: Levels) -> Any:
    """Return the covariance of the errors of two jobs of one source.

    Parameters
    ----------
    one, other : the jobs
    source_variance : variance of the source's error, common to both
    levels : learned
    """
    shared = levels.shared(source_variance, float(one.network == other.network), apart(one, other))
    return shared + is_same(one, other) * levels.rest**2


def conditioned(prior: Any, own: Any, among: Any, misses: Any, noise: Any = 0.0) -> tuple[Any, Any]:
    """Return the conditional mean and variance of errors, given other errors that are known.

    Known errors larger than the levels expect increase all variances.

    Parameters
    ----------
    prior : variances, shape (jobs,), or a number
    own : covariances with the known errors, shape (jobs, runs), or (runs,)
    among : covariances between the known errors, shape (runs, runs), or one matrix for each job
    misses : the known errors, shape (runs,), or one row for each job
    noise : variances of the measurements, a diagonal matrix
    """
    squares = (misses * _solutions(among + noise, misses)).sum(-1)
    wider = np.maximum(1.0, (FREEDOM + squares) / (FREEDOM + misses.shape[-1]))
    own = wider[..., None] * own
    shares = _solutions(wider[..., None, None] * among + noise, own)
    left = np.maximum(wider * prior - (shares * own).sum(-1), 0.0)
    return (shares * misses).sum(-1), left


@numeric
def updated(job: Traits, spread: Any, runs: Sequence[Run]) -> Update:
    """Return the update of a job's prediction by runs of the same source.

    Parameters
    ----------
    job : traits of the predicted job
    spread : standard deviation of its error without the runs
    runs : at least one measured run
    """
    levels = learned()
    of_job, of_runs = levels.of_source(spread), [levels.of_source(run.spread) for run in runs]

    def between(one: Traits, own: Any) -> Any:
        each = zip(runs, of_runs, strict=True)
        return _stacked([covariance(one, run.traits, own * of_run, levels) for run, of_run in each])

    rest = levels.rest**2 * np.diag([float(not run.traits.machine) for run in runs])
    noise = np.diag([float(run.noise) ** 2 / run.repeats for run in runs])
    each = [between(run.traits, of_run) for run, of_run in zip(runs, of_runs, strict=True)]
    prior, misses = np.square(of_job) + levels.within, _stacked([run.miss for run in runs])
    shift, left = conditioned(prior, between(job, of_job), _stacked(each, -2) + rest, misses, noise)
    again = _stacked([is_same(job, run.traits) * run.noise**2 for run in runs]).max(-1)
    followed, is_series = series_shift(job, runs)
    follows = is_series & (again == 0)
    return Update(np.where(follows, followed, shift), left, again, runs, follows)


def _stacked(values: Sequence[Any], axis: int = -1) -> Any:
    """Stack numbers or arrays along an axis, by default the last."""
    return np.stack(np.broadcast_arrays(*(np.asarray(each, float) for each in values)), axis=axis)


def _solutions(matrix: Any, column: Any) -> Any:
    """Return the solutions of linear systems with one right-hand side each."""
    return solved(matrix, column[..., None])[..., 0]
