"""The cheapest or fastest machines that meet a target: candidates, their front, and why others lost."""

from perfmodel.plan.goal import Goal
from perfmodel.plan.search import Found, search

__all__ = ["Found", "Goal", "search"]
