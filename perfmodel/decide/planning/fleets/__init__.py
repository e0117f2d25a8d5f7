"""A fleet that grows: what more of the same, other machines or a faster network add, cost and pay back."""

from perfmodel.decide.planning.fleets.compare import Length, fleets
from perfmodel.decide.planning.fleets.job import Job
from perfmodel.decide.planning.fleets.market import Market
from perfmodel.decide.planning.fleets.result import Fleets

__all__ = ["Fleets", "Job", "Length", "Market", "fleets"]
