"""Many scenarios in one call: options as lists, crossed, and answered in arrays as ``predict`` would."""

from perfmodel.decide.sweeps.table import Sweep, sweep

__all__ = ["Sweep", "sweep"]
