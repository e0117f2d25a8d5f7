"""MLPerf Training submissions most like a claimed job: vendors' own tuned runs, with their software."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from perfmodel.decide.quote.similar_runs import SHOWN, SimilarRun, distance, family_of
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import framework_of, shipped_submissions
from perfmodel.evidence.accuracy.mlperf.mlperf_rules import ROUNDS
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.setting.resolve import Setting
from perfmodel.workloads.catalogue import version_of

PADDED = {"bert": 512}
"""Tokens to which a benchmark's sequences are padded.  The software of submissions skips padding: of those
whose configuration could be read, all but one."""


def similar_submissions(setting: Setting, catalogue: Catalogue) -> list[SimilarRun]:
    """Return the submissions most like a setting, one per accelerator and size, the nearest first.

    Of equally near ones the latest round counts, then the fastest.

    Parameters
    ----------
    setting : the claimed job
    catalogue : where the architecture of accelerators is looked up
    """
    family = family_of(catalogue, setting.accelerator.architecture)
    able = [each for each in submitted() if is_of_network(each, setting) and each.run.accelerator in family]
    able.sort(key=lambda each: (_distance(each.run, setting), -_round(each), -each.rate))
    kept: dict[tuple[str, int], SimilarRun] = {}
    for each in able:
        kept.setdefault((each.run.accelerator, each.run.world_size), each)
    return list(kept.values())[:SHOWN]


def is_of_network(similar: SimilarRun, setting: Setting) -> bool:
    """Return whether a run trained the network of a setting, or a version of it, on samples of its length."""
    run, length = similar.run, setting.workload.sequence_length
    alike = version_of(run.workload) == version_of(setting.workload.id)
    return alike and length in (run.sequence_length, similar.padded or run.sequence_length)


@cache
def submitted() -> tuple[SimilarRun, ...]:
    """Return every submission with a logged rate, as a training run."""
    return tuple(_runs())


def _runs() -> Iterator[SimilarRun]:
    """Yield every submission with a logged rate and one framework, as a training run."""
    for each in shipped_submissions():
        run, time = each.job, each.iteration_time
        if time is None or run.samples_per_second is None or _names_several(run.framework):
            continue
        rate = run.samples_per_second / run.world_size
        source = f"MLPerf Training {each.round}, {each.submitter}"
        run = run._replace(source=source, locator=each.system, accumulation_steps=1, trust="A")
        yield SimilarRun(run, time, rate, None, framework_of(each), each, PADDED.get(each.benchmark))


def _names_several(framework: str) -> bool:
    """Return whether a row names several frameworks, of which only one ran."""
    return sum(name in framework.lower() for name in ("mxnet", "pytorch", "tensorflow")) > 1


def _distance(run: Run, setting: Setting) -> float:
    """Return the distance of a submission from a setting; its fp16 counts as mixed precision."""
    alike = setting.peak_format == run.precision
    return distance(run._replace(precision=setting.precision) if alike else run, setting)


def _round(similar: SimilarRun) -> int:
    """Return the position of a submission's round in time order."""
    assert similar.submission is not None
    return ROUNDS.index(similar.submission.round)
