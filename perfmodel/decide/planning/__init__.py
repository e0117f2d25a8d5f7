"""The cheapest or fastest machines that meet a goal: candidates, their front, and why others are left out."""

from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.searches import search

__all__ = ["Goal", "SearchResult", "search"]
