"""Measured runs that did as well as a quote claims: same accelerator and network, perhaps other software."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from perfmodel.decide.quote.comparable import reaches
from perfmodel.decide.quote.expected import Measure
from perfmodel.decide.quote.file import Claim
from perfmodel.decide.quote.similar_runs import SimilarRun, distance, has_no_higher_peak, software_of_run
from perfmodel.decide.quote.similar_submissions import is_of_network, submitted
from perfmodel.decide.quote.similar_transformers import job_words, runs_of_network
from perfmodel.evidence.accuracy.training_rows import TRUSTED, shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_rows import PRECISIONS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.software import parts
from perfmodel.model.setting.resolve import Setting

Open = Literal["software", "precision", "batch"]
LARGER_BATCH = 1.1
"""Largest ratio of a run's batch to the stated one for which they count as equal (a choice)."""


class ReachedBy(BaseModel):
    """A measured run that did as well as claimed, in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Id of the measured run."""
    source: str
    """Source of the measurement."""
    software: str
    """Software of the run, as ``NAME@YEAR``."""
    value: float
    """The claimed quantity at the run's rate per accelerator."""
    words: str
    """Machines, precision and batch of the run, in one line."""
    software_taken: str
    """Software with which the claim was checked, as ``NAME@YEAR``."""
    is_other: bool
    """Whether the run used other software than that."""
    left_open: list[Open]
    """Properties in which the run differs from the checked job and that the quote does not state."""

    @property
    def is_allowed(self) -> bool:
        """Whether the quote may mean this run: same number format, and same or unstated software."""
        return "precision" not in self.left_open and (not self.is_other or "software" in self.left_open)


class _Rated(NamedTuple):
    """A measured run of the claimed network, with its speed."""

    id: str
    source: str
    software: str
    time: float
    """Time of a step of the claimed job at this run's rate per accelerator [s]."""
    words: str
    precision: str
    batch: float
    """Samples of each accelerator; infinite where unknown."""
    apart: float
    """Distance from the claimed job."""


def reached_by(
    claim: Claim, setting: Setting, measure: Measure, step_flops: float | None, catalogue: Catalogue
) -> ReachedBy | None:
    """Return the measured run most like a claim among those that did as well; None where none did.

    Only runs of the same network on at least as many of the same accelerators count, with batch, input and
    network no easier than what the quote states.  Runs in a format of no higher peak come first; of equally
    near ones, to a tenth, the fastest.

    Parameters
    ----------
    claim, setting : the claim, and the job
    measure : conversion of a step time to the claimed quantity
    step_flops : model FLOP of a step, for a model-parallel transformer
    catalogue : where hardware of the runs is looked up
    """
    runs = _of_copies(setting) if setting.layout is None else _of_layouts(setting, step_flops, catalogue)

    def is_reached(run: _Rated) -> bool:
        if claim.kind == "mfu" and not has_no_higher_peak(run.precision, setting):
            return False  # its utilisation is of another peak
        return reaches(measure.of(run.time), claim.number, measure.higher_is_better)

    def order(run: _Rated) -> tuple[bool, float, float]:
        return not has_no_higher_peak(run.precision, setting), round(run.apart, 1), run.time

    run = min(filter(is_reached, runs), key=order, default=None)
    if run is None:
        return None
    is_other = parts(run.software)[0] != setting.software_name
    left_open: list[Open] = ["software"] if is_other and setting.scenario.framework is None else []
    if not has_no_higher_peak(run.precision, setting):
        left_open.append("precision")
    if setting.layout is None and run.batch > LARGER_BATCH * setting.local_batch_size:
        left_open.append("batch")
    return ReachedBy(
        id=run.id,
        source=run.source,
        software=run.software,
        value=measure.of(run.time),
        words=run.words,
        software_taken=setting.software,
        is_other=is_other,
        left_open=left_open,
    )


def _states_batch(setting: Setting) -> bool:
    """Return whether the quote states a batch."""
    scenario = setting.scenario
    return scenario.local_batch_size is not None or scenario.global_batch_size is not None


def _of_copies(setting: Setting) -> Iterator[_Rated]:
    """Yield data-parallel runs whose job is no easier than a setting's, with their speed."""
    samples = setting.local_batch_size * setting.accumulation_steps
    for each in _trained():
        if _is_as_hard(each, setting):
            run, time = each.run, samples / each.rate
            batch, apart = run.local_batch_size or math.inf, distance(run, setting)
            assert each.software is not None
            yield _Rated(run.run_id, run.source, each.software, time, each.words, run.precision, batch, apart)


def _is_as_hard(similar: SimilarRun, setting: Setting) -> bool:
    """Return whether the job of a run is no easier than that of a setting."""
    run, scenario = similar.run, setting.scenario
    without_padding = similar.padded is not None and run.sequence_length != setting.workload.sequence_length
    batch = run.local_batch_size or math.inf
    return (
        is_of_network(similar, setting)
        and run.accelerator == setting.accelerator.id
        and run.world_size >= setting.world_size
        and run.strategy in (setting.strategy, "single")
        and (scenario.input != "real" or run.input == "real" or similar.submission is not None)
        and not (without_padding and "input" in scenario.model_fields_set and scenario.input != "real")
        and (scenario.inter_link is None or run.nodes < 2 or run.inter_link == setting.inter_link.id)
        and (not _states_batch(setting) or batch <= LARGER_BATCH * setting.local_batch_size)
        and bool(run.precision)
        and (scenario.precision is None or has_no_higher_peak(run.precision, setting))
    )


@cache
def _trained() -> tuple[SimilarRun, ...]:
    """Return every trusted run with a measured rate and known software, MLPerf submissions included."""
    result = list(submitted())
    for run in shipped_runs():
        if run.trust not in TRUSTED or not run.samples_per_second or not run.world_size:
            continue
        software = software_of_run(run)
        if software is not None:
            rate = run.samples_per_second / run.world_size
            result.append(SimilarRun(run, math.nan, rate, None, software))
    return tuple(result)


def _of_layouts(setting: Setting, step_flops: float | None, catalogue: Catalogue) -> Iterator[_Rated]:
    """Yield runs of a transformer's network, with their speed."""
    if not step_flops:
        return
    for each in runs_of_network(setting, catalogue):
        time = step_flops / (each.flops_per_second * setting.world_size)
        run = each.run
        words, precision = job_words(run), PRECISIONS.get(run.precision, run.precision)
        yield _Rated(run.run_id, run.source, each.software, time, words, precision, math.nan, each.apart)
