"""From a scenario to a prediction: what is said of an iteration that ``perfmodel.step`` works out."""

from perfmodel.prediction.assemble import doubted, predict, time_of
from perfmodel.prediction.result import Memory, Prediction

__all__ = ["Memory", "Prediction", "doubted", "predict", "time_of"]
