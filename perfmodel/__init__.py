"""A closed-form performance model of distributed deep-learning training.

The commands that people script are functions of their names; ``help(perfmodel.predict)`` and the
others say what they take.  An answer has attributes, reads well when shown, and ``to_json`` gives what the
command prints; what is a table has ``to_pandas`` and ``to_arrow``.

>>> import perfmodel
>>> answer = perfmodel.predict(workload="resnet50", gpus=32)
>>> answer.scaling
'weak'
"""

from __future__ import annotations

from importlib import import_module

from perfmodel.core.files.learner import learns
from perfmodel.interfaces.register import FUNCTIONS

__version__ = "0.3.0"

learns("perfmodel.evidence.fitting.own_file:calibration_of_runs")

_HOMES = {
    "Catalogue": "perfmodel.hardware.catalogue.store",
    "Client": "perfmodel.interfaces.client",
    "Conditions": "perfmodel.model.options.conditions",
    "Emulator": "perfmodel.evidence.traces.emulate",
    "InputError": "perfmodel.core.errors",
    "Prediction": "perfmodel.model.prediction",
    "Scenario": "perfmodel.model.options.scenario",
    "predict": "perfmodel.model.prediction",
    "read_quote": "perfmodel.decide.quote",
    "workload": "perfmodel.workloads",
    "write_report": "perfmodel.interfaces.reports.write",
} | dict.fromkeys(FUNCTIONS, "perfmodel.interfaces.calls")
"""Modules of the public names; ``__init__.pyi`` has their types."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'perfmodel' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
