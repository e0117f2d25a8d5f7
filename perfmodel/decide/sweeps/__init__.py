"""Many scenarios in one call: options as lists, crossed, and predicted as arrays."""

from perfmodel.decide.sweeps.table import Sweep, sweep

__all__ = ["Sweep", "sweep"]
