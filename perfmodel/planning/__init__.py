"""The cheapest or fastest machines that meet a target: candidates, their front, and why not others."""

from perfmodel.planning.goal import Goal
from perfmodel.planning.results import SearchResult
from perfmodel.planning.searches import search

__all__ = ["Goal", "SearchResult", "search"]
