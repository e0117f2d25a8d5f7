"""The cheapest or fastest machines that meet a target: candidates, their front, and why others lost."""

from perfmodel.plan.found import Found
from perfmodel.plan.goal import Goal
from perfmodel.plan.searches import search

__all__ = ["Found", "Goal", "search"]
