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

TYPE_CHECKING = False  # as of typing, which takes half of the time in which Ctrl-C cannot be caught yet
if TYPE_CHECKING:
    from perfmodel.api.adaptive_synchrony import adaptive_synchrony
    from perfmodel.api.calibrate import calibrate
    from perfmodel.api.collective import collective
    from perfmodel.api.compare import compare
    from perfmodel.api.fleets import fleets
    from perfmodel.api.layouts import layouts
    from perfmodel.api.plan import plan
    from perfmodel.api.scale import scale
    from perfmodel.api.stragglers import stragglers
    from perfmodel.api.validate import validate
    from perfmodel.client import Client
    from perfmodel.errors import InputError
    from perfmodel.interfaces.calls import (
        compression,
        downpour,
        enough,
        explain,
        learning_rate,
        model_parallel,
        servers,
    )
    from perfmodel.prediction import Prediction, predict
    from perfmodel.quote import check_quote, read_quote
    from perfmodel.reports.write import write_report
    from perfmodel.specs.conditions import Conditions
    from perfmodel.specs.scenario import Scenario
    from perfmodel.specs.store import Catalogue
    from perfmodel.sweeps import sweep
    from perfmodel.traces.emulate import Emulator
    from perfmodel.workloads import workload

__version__ = "0.3.0"

__all__ = [
    "Catalogue",
    "Client",
    "Conditions",
    "Emulator",
    "InputError",
    "Prediction",
    "Scenario",
    "adaptive_synchrony",
    "calibrate",
    "check_quote",
    "collective",
    "compare",
    "compression",
    "downpour",
    "enough",
    "explain",
    "fleets",
    "layouts",
    "learning_rate",
    "model_parallel",
    "plan",
    "predict",
    "read_quote",
    "scale",
    "servers",
    "stragglers",
    "sweep",
    "validate",
    "workload",
    "write_report",
]

_HOMES = {
    "Catalogue": "perfmodel.specs.store",
    "Client": "perfmodel.client",
    "Conditions": "perfmodel.specs.conditions",
    "Emulator": "perfmodel.traces.emulate",
    "InputError": "perfmodel.errors",
    "Prediction": "perfmodel.prediction",
    "Scenario": "perfmodel.specs.scenario",
    "adaptive_synchrony": "perfmodel.api.adaptive_synchrony",
    "calibrate": "perfmodel.api.calibrate",
    "check_quote": "perfmodel.quote",
    "collective": "perfmodel.api.collective",
    "compare": "perfmodel.api.compare",
    "compression": "perfmodel.interfaces.calls",
    "downpour": "perfmodel.interfaces.calls",
    "enough": "perfmodel.interfaces.calls",
    "explain": "perfmodel.interfaces.calls",
    "fleets": "perfmodel.api.fleets",
    "layouts": "perfmodel.api.layouts",
    "learning_rate": "perfmodel.interfaces.calls",
    "model_parallel": "perfmodel.interfaces.calls",
    "plan": "perfmodel.api.plan",
    "predict": "perfmodel.prediction",
    "read_quote": "perfmodel.quote",
    "scale": "perfmodel.api.scale",
    "servers": "perfmodel.interfaces.calls",
    "stragglers": "perfmodel.api.stragglers",
    "sweep": "perfmodel.sweeps",
    "validate": "perfmodel.api.validate",
    "workload": "perfmodel.workloads",
    "write_report": "perfmodel.reports.write",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'perfmodel' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
