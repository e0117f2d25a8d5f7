"""From a scenario to a prediction: interval, verdict, memory and warnings of an iteration."""

from perfmodel.model.prediction.assemble import predict, time_and_strengths, time_of
from perfmodel.model.prediction.result import Memory, Prediction

__all__ = ["Memory", "Prediction", "predict", "time_and_strengths", "time_of"]
