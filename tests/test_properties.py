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
    """Each names its reason, and nothing is allowed twice its size."""
    for each in EXCEPTIONS:
        assert len(each.reason) > 80
    anchored = Violation(
        "better_hardware", "peak_flops x 2", 0.01, {"anchor": "iteration_time=1s@1"}, "none", "ring", 0.0
    )
    allows = [each.name for each in EXCEPTIONS if each.allows(anchored)]
    assert allows == ["a measured accelerator"]
    assert not any(each.allows(anchored._replace(excess=2.0)) for each in EXCEPTIONS)
    assert not any(each.allows(anchored._replace(of="inter_link_bandwidth x 2")) for each in EXCEPTIONS)
