"""What errors jobs of one source share: how it is learned, and what own runs then say."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from perfmodel.evidence.accuracy.ledger.anchoring import anchored, source_of, traits_of
from perfmodel.evidence.accuracy.ledger.levels import as_levels, covering, fit, posterior, sources
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.model.fitted.ledger_scales import TRANSFORMERS, levels_of
from perfmodel.model.options.layout import Layout
from perfmodel.model.transformers.levels import Run, Traits, learned, updated


def test_what_predicts_a_run_is_what_own_runs_do():
    """The arrays of the accuracy tests and the update of an answer are one formula."""
    able = [run for run in shipped_transformer_runs() if run.case is not None and run.source == "internevo"][
        :6
    ]
    misses, spreads = np.linspace(-0.3, 0.3, len(able)), np.full(len(able), 0.25)
    each, given = source_of("internevo", False, able, misses, spreads), np.array([0, 2, 3])
    error, spread = posterior(each, given, np.array([5]), learned())
    own = [Run(traits_of(able[n]), 0.25, misses[n], noise=0.0) for n in given]
    said = updated(traits_of(able[5]), 0.25, own)
    assert misses[5] - said.shift == pytest.approx(error[0])
    assert said.spread() == pytest.approx(spread[0])
    of_two = anchored([able[0], able[5]], misses[[0, 5]], spreads[[0, 5]], {"internevo": learned()})
    error, spread = posterior(each, np.array([0]), np.array([5]), learned())
    assert misses[5] - of_two.shifts[1] == pytest.approx(error[0])
    assert of_two.spreads[1] == pytest.approx(spread[0])


@pytest.mark.any_version
def test_levels_without_a_source_are_learned_without_it():
    """A source's errors move what is learned with it; of each there is what is learned without."""
    every = [each for each in sources() if len(each.misses) <= 6]
    wrong = [every[0]._replace(misses=9 * every[0].misses), *every[1:]]
    assert fit(wrong) != fit(every)
    assert set(levels_of(TRANSFORMERS)["without"]) == {each.name for each in sources()}


@pytest.mark.any_version
def test_the_shipped_levels_are_what_the_rows_give():
    """From the shipped numbers on, which a fit from afar leads to as well."""
    shipped, every = learned(), sources()
    numbers = {name: getattr(shipped, name) for name in ("source", "network", "row", "rest")}
    again = covering(every, as_levels(fit(every)))
    for name, value in numbers.items():
        assert getattr(again, name) == pytest.approx(value, rel=0.03)
    assert again.falls == pytest.approx(shipped.falls, rel=0.03)


def test_anchors_are_of_the_same_network_and_source():
    able = [run for run in shipped_transformer_runs() if run.case is not None]
    said = anchored(able, np.zeros(len(able)), np.full(len(able), 0.2), defaultdict(learned))
    groups = Counter((run.source, run.workload) for run in able)
    for run, is_anchored in zip(able, said.is_anchored.tolist(), strict=True):
        assert is_anchored <= (groups[run.source, run.workload] > 1)
    assert 0.9 < said.is_anchored.mean() < 1


def test_a_job_on_other_numbers_of_accelerators_follows_its_runs():
    """Between them on a line in log2, beyond them constant; of many layouts as of each alone."""
    machine = ("node", "a", "b", "c", 8, 4, 1)
    job = Traits("net", "gpu", "bf16", "soft", Layout(data_parallel=8, sharding=3), 1024, machine)

    def on(ranks, **other):
        held = (*machine[:4], min(ranks, 8), *machine[5:])
        return job._replace(layout=job.layout._replace(data_parallel=ranks, **other), machine=held)

    runs = [Run(on(ranks), 0.3, miss) for ranks, miss in ((4, 0.2), (16, 0.4), (64, 0.7))]
    alien = [Run(on(32, micro_batch_size=2), 0.3, 2.0), Run(on(32)._replace(network="b"), 0.3, 2.0)]
    follows = {2: 0.2, 8: 0.3, 32: 0.55, 128: 0.7, 1024: 0.7}
    for ranks, miss in follows.items():
        one = updated(on(ranks), 0.3, [*runs, *alien])
        assert one.follows_runs
        assert float(one.shift) == pytest.approx(miss)
    for other in (on(16), on(32, tensor_parallel=2), on(32)._replace(machine=())):  # measured, or not of it
        assert not updated(other, 0.3, runs).follows_runs
    assert not updated(on(128), 0.3, runs[:1]).follows_runs
    ranks = np.array([16, 32, 128, 1024])
    many = updated(on(16)._replace(layout=job.layout._replace(data_parallel=ranks)), 0.3, runs)
    each = [updated(on(n), 0.3, runs) for n in ranks.tolist()]
    assert many.follows_runs.tolist() == [bool(one.follows_runs) for one in each]
    assert many.shift == pytest.approx([float(one.shift) for one in each])
