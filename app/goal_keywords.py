"""Converts the goal of a search to keyword arguments of ``perfmodel.plan``."""

from __future__ import annotations

from typing import Any

from perfmodel.decide.planning import Goal


def keywords_of(goal: Goal) -> dict[str, Any]:
    """Return the keyword arguments of a goal that differ from the defaults, without its conditions.

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
