"""A fleet that grows: what more of the same, other machines or a faster network add, cost and pay back."""

from perfmodel.planning.fleets.compare import Length, fleets
from perfmodel.planning.fleets.job import Job
from perfmodel.planning.fleets.market import Market
from perfmodel.planning.fleets.result import Fleets

__all__ = ["Fleets", "Job", "Length", "Market", "fleets"]
