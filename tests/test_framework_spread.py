"""The report's section on how far frameworks lie apart on the same network and machine."""

from __future__ import annotations

import pytest

from perfmodel.accuracy.framework_spread import Job, Times, jobs, pairs, section
from perfmodel.accuracy.out_of_sample_file import shipped_rows


def test_pairs_are_counted_from_the_faster_with_ties_left_out():
    def job(one, other):
        return Job("lab", "net", {"a": Times(1.0, 1.0, 1.0), "b": Times(one, other, 2.0)})

    (pair,) = pairs([job(0.5, 2.0), job(0.8, 0.8), job(1.02, 0.9), job(0.4, 0.5)])
    assert (pair.one, pair.other, pair.jobs) == ("b", "a", 4)
    assert pair.ratio.measured == pytest.approx((1 / 0.5 + 1 / 0.8) / 2)
    assert (pair.apart, pair.in_order) == (3, 2)
    assert pairs([job(0.5, 2.0)]) == []
    assert section([]) == ""


def test_measured_frameworks_lie_further_apart_than_predicted_and_mostly_in_order():
    """Up to 50 % on the same network is common; what frameworks state shows part of it."""
    rows = [row for row in shipped_rows("specs") if row.run.source == "dlperf"]
    known = jobs(rows)
    assert len(known) > 50
    assert all(job.source == "dlperf" and len(job.times) > 1 for job in known)
    assert all(job.spread.measured >= 1 for job in known)
    clear = [pair for pair in pairs(known) if pair.ratio.measured > 1.25]
    assert sum(pair.in_order for pair in clear) > 0.8 * sum(pair.apart for pair in clear)
    assert "| oneflow | paddle |" in section(rows)
