"""From a scenario to a prediction: the only place where specs meet equations."""

from perfmodel.prediction.assemble import doubted, predict, time_of
from perfmodel.prediction.result import Memory, Prediction

__all__ = ["Memory", "Prediction", "doubted", "predict", "time_of"]
