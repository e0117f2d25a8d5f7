"""From a scenario to a prediction: the only place where specs meet equations."""

from perfmodel.prediction.assemble import doubted, predict
from perfmodel.prediction.result import Memory, Prediction

__all__ = ["Memory", "Prediction", "doubted", "predict"]
