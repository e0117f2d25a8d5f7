"""How long a search through 100,000 plans takes."""

from __future__ import annotations

from typing import Any

from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.plans import Plans

PLANS = 100_000
CLOUD = ("v100-sxm2-16gb", "a100-sxm4-40gb", "h100-sxm5-80gb")


def test_a_hundred_thousand_plans(within: Any) -> None:
    """With their front and all that is told of them."""

    def told() -> tuple[int, dict[str, Any]]:
        found = search(Goal(epochs=90, deadline=86400.0, budget=500.0, accelerators=CLOUD))
        return len(found), Plans.of(found).report()

    count, answer = within(350, told, passes=50)
    assert count >= PLANS
    assert answer["met"]
