"""Growing a fleet: costs and payback of more of the same machines, other machines, or a faster network."""

from perfmodel.decide.planning.fleets.compare import fleets
from perfmodel.decide.planning.fleets.job import Job
from perfmodel.decide.planning.fleets.market import Market
from perfmodel.decide.planning.fleets.result import Fleets
from perfmodel.decide.planning.fleets.run_times import Length

__all__ = ["Fleets", "Job", "Length", "Market", "fleets"]
