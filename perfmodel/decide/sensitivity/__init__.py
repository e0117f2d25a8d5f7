"""How time and cost of a job depend on each of its inputs, and where that changes."""

from perfmodel.decide.sensitivity.elasticity import Elasticity, Sensitivity, sensitivity

__all__ = ["Elasticity", "Sensitivity", "sensitivity"]
