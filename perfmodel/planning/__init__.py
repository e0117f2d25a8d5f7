"""The cheapest or fastest machines that meet a target: candidates, their front, and why others lost."""

from perfmodel.planning.found import Found
from perfmodel.planning.goal import Goal
from perfmodel.planning.searches import search

__all__ = ["Found", "Goal", "search"]
