"""A few random scenarios over all options; ``python -m tests.properties 20000`` tries many."""

from __future__ import annotations

import os
import random

from tests.exceptions import EXCEPTIONS
from tests.properties import Violation, question, run

COUNT = int(os.environ.get("PERFMODEL_PROPERTIES", "30"))
SEED = int(os.environ.get("PERFMODEL_PROPERTIES_SEED", "1"))


def test_what_must_hold_of_every_prediction() -> None:
    report = run(range(COUNT), SEED)
    assert not report.violations
    assert report.answered > COUNT / 2


def test_a_scenario_hangs_on_its_seed_and_number_alone() -> None:
    random.seed(0)
    first = question(3, 17)
    random.seed(1)
    assert question(3, 17) == first != question(4, 17)


def test_an_exception_ends_where_its_reason_does() -> None:
    """Each names its reason, and explains its own way of overlapping and its own size alone."""

    def allowed(violation: Violation) -> list[str]:
        return [each.name for each in EXCEPTIONS if each.allows(violation)]

    for each in EXCEPTIONS:
        assert len(each.reason) > 80
    late = Violation("better_hardware", "peak_flops x 2", 0.01, {}, "fused", "ring", longest_message=0.02)
    assert allowed(late) == [EXCEPTIONS[0].name]
    assert not allowed(late._replace(excess=0.021))
    for other in ("none", "wfbp", "bucketed", "priority"):
        assert not allowed(late._replace(overlap=other))
    for overlap in ("fused", "optimal"):
        not_least = late._replace(overlap=overlap, check="best_choices", of="overlap optimal, not wfbp")
        assert not allowed(not_least)
