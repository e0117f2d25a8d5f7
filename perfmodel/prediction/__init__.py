"""From a scenario to a prediction: the only place where specs meet equations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfmodel.prediction.assemble import doubted, predict, time_of
    from perfmodel.prediction.result import Memory, Prediction

__all__ = ["Memory", "Prediction", "doubted", "predict", "time_of"]

_IN_RESULT = ("Memory", "Prediction")


def __getattr__(name: str) -> object:
    """Import a name when it is first used (PEP 562): modules of this package are used by what it uses."""
    if name not in __all__:
        raise AttributeError(f"module 'perfmodel.prediction' has no attribute {name!r}")
    home = "result" if name in _IN_RESULT else "assemble"
    found = globals()[name] = getattr(import_module(f"perfmodel.prediction.{home}"), name)
    return found
