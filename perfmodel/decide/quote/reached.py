"""Measured runs that did as well as a quote claims: same accelerator and network, perhaps other software."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

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
"""Times a batch that the quote states, up to which a run's is the same (chosen)."""
ROUNDED = 0.005
"""Share by which a run may miss a claim that is written in three digits."""


class ReachedBy(BaseModel):
    """A measured run that did as well as claimed, in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Of the measured run."""
    source: str
    """Who measured it."""
    software: str
    """What ran it, as ``NAME@YEAR``."""
    value: float
    """The claimed quantity, as its rate on each accelerator would make it."""
    words: str
    """On what it ran, in a line."""
    software_taken: str
    """What the claim is held against, as ``NAME@YEAR``."""
    is_other: bool
    """Whether the run's software is another than that."""
    left_open: list[Open]
    """In what it differs from the job that was checked, as the quote does not say."""

    @property
    def is_allowed(self) -> bool:
        """Whether the quote may mean such a run: its number format, and its software or none."""
        return "precision" not in self.left_open and (not self.is_other or "software" in self.left_open)


class _Rated(NamedTuple):
    """A measured run of the claimed network, by how fast it is."""

    id: str
    source: str
    software: str
    time: float
    """Of a step of the claimed job, at this run's rate on each accelerator [s]."""
    words: str
    precision: str
    batch: float
    """Of each accelerator, infinite where it is not known [samples]."""
    apart: float
    """How far it is from what is claimed."""


def reached_by(
    claim: Claim, setting: Setting, measure: Measure, step_flops: float | None, catalogue: Catalogue
) -> ReachedBy | None:
    """Return the measured run most like a claim of those that did as well; None where none did.

    Only runs of the same network on as many of the same accelerators, or more, count, whose batch, arithmetic
    and exchange are no easier than what the quote states; first those of no higher peak than was checked.  Of
    equally near ones, to a tenth, the fastest counts.

    Parameters
    ----------
    claim, setting : what is claimed, of which job
    measure : how the claimed quantity follows from the time of a step
    step_flops : the model's arithmetic in a step [FLOP], of a transformer that is shared out
    catalogue : hardware that the runs name
    """
    runs = _of_copies(setting) if setting.layout is None else _of_layouts(setting, step_flops, catalogue)

    def is_reached(run: _Rated) -> bool:
        value = measure.of(run.time)
        if claim.kind == "mfu" and not has_no_higher_peak(run.precision, setting):
            return False  # its utilisation is of another peak
        ratio = value / claim.number if measure.higher_is_better else claim.number / value
        return ratio >= 1 - ROUNDED

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
    asked = setting.scenario
    return asked.local_batch_size is not None or asked.global_batch_size is not None


def _of_copies(setting: Setting) -> Iterator[_Rated]:
    samples = setting.local_batch_size * setting.accumulation_steps
    for each in _trained():
        if _is_as_hard(each, setting):
            run, time = each.run, samples / each.rate
            batch, apart = run.local_batch_size or math.inf, distance(run, setting)
            assert each.software is not None
            yield _Rated(run.run_id, run.source, each.software, time, each.words, run.precision, batch, apart)


def _is_as_hard(similar: SimilarRun, setting: Setting) -> bool:
    """Whether a run had no easier job than a setting's."""
    run, asked = similar.run, setting.scenario
    without_padding = similar.padded is not None and run.sequence_length != setting.workload.sequence_length
    batch = run.local_batch_size or math.inf
    return (
        is_of_network(similar, setting)
        and run.accelerator == setting.accelerator.id
        and run.world_size >= setting.world_size
        and run.strategy in (setting.strategy, "single")
        and (asked.input != "real" or run.input == "real" or similar.submission is not None)
        and not (without_padding and "input" in asked.model_fields_set and asked.input != "real")
        and (asked.inter_link is None or run.nodes < 2 or run.inter_link == setting.inter_link.id)
        and (not _states_batch(setting) or batch <= LARGER_BATCH * setting.local_batch_size)
        and bool(run.precision)
        and (asked.precision is None or has_no_higher_peak(run.precision, setting))
    )


@cache
def _trained() -> tuple[SimilarRun, ...]:
    """Every trusted run of known software whose rate was measured, MLPerf's among them."""
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
    if not step_flops:
        return
    for each in runs_of_network(setting, catalogue):
        time = step_flops / (each.flops_per_second * setting.world_size)
        run = each.run
        words, precision = job_words(run), PRECISIONS.get(run.precision, run.precision)
        yield _Rated(run.run_id, run.source, each.software, time, words, precision, math.nan, each.apart)
