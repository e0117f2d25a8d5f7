"""What was asked of a search, as the keywords of ``perfmodel.plan``."""

from __future__ import annotations

from typing import Any

from perfmodel.decide.planning import Goal


def keywords_of(goal: Goal) -> dict[str, Any]:
    """Return the keywords that differ from what ``perfmodel.plan`` takes by itself, without the conditions.

    >>> keywords_of(Goal(deadline=3600.0, options={"input": "real"}))
    {'deadline': 3600.0, 'input': 'real'}
    """
    blank = Goal(prices={}, purchase_prices={}, options={})
    given = {
        name: getattr(goal, name)
        for name in Goal.model_fields
        if name not in ("conditions", "options", "meant") and getattr(goal, name) != getattr(blank, name)
    }
    return given | dict(goal.options)
