"""The cheapest or fastest machines that meet a target: candidates, their front, and why not others."""

from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.searches import search

__all__ = ["Goal", "SearchResult", "search"]
