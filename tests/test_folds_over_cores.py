"""Fits that leave a source out: the same to the last bit by one process and by two."""

from __future__ import annotations

import pytest

from perfmodel.core.processes import Workers
from perfmodel.evidence.accuracy.training_rows import TRUSTED, shipped_runs
from perfmodel.evidence.fitting.fit_everything import fitted
from perfmodel.evidence.fitting.out_of_sample import OutOfSample
from perfmodel.model.fitted.calibration import before_fit

pytestmark = pytest.mark.any_version


def some_runs():
    """A tenth of the runs of three sources, some on several accelerators."""
    runs = [run for run in shipped_runs() if run.trust in TRUSTED]
    counts = {source: sum(run.source == source for run in runs) for source in {run.source for run in runs}}
    large = sorted(counts, key=lambda source: -counts[source])[:3]
    return [run for run in runs if run.source in large][::10]


def test_two_processes_fit_what_one_does():
    runs = some_runs()
    one, two = OutOfSample(runs), OutOfSample(runs, jobs=2)
    assert len(one.sources) == 3
    assert fitted(one) == fitted(two)
    assert [repr(one.calibration(source).spread) for source in one.sources] == [
        repr(two.calibration(source).spread) for source in one.sources
    ]
    assert one.components() == two.components()
    assert one.counts() == two.counts()
    assert one.counts()["anchored"] > 5


def _named(state, item):
    return state, item


def test_workers_keep_their_state_over_rounds():
    with Workers(before_fit().jitter, 2) as workers:
        for items in ("abc", "de"):
            answers = dict(workers.each(_named, items))
            assert answers == {item: (before_fit().jitter, item) for item in items}


def test_jobs_go_with_what_is_fitted_alone(invoke):
    for words, message in (
        (("validate", "--jobs", "2"), "--jobs: of training with --out-of-sample or --report"),
        (
            ("validate", "--kind", "collectives", "--out-of-sample", "--jobs", "2"),
            "--jobs: of training with",
        ),
        (("calibrate", "--times", "x.csv", "--jobs", "2"), "--jobs: of measured runs"),
        (
            ("calibrate", "--data", "x.csv", "--jobs", "2"),
            "--jobs: of a fit to measured runs, not of an update by --data (--refit fits anew)",
        ),
        (
            ("calibrate", "--collectives", "x.csv", "--check"),
            "--check: of a fit to measured runs, not of an update by --collectives",
        ),
        (
            ("calibrate", "--data", "x.csv", "--collectives", "y.csv", "--refit"),
            "--collectives: they update the fit; not with --refit",
        ),
    ):
        said = invoke(*words)
        assert said.exit_code == 2
        assert message in said.stderr
