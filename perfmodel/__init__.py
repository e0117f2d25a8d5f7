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
    from perfmodel.core.errors import InputError
    from perfmodel.decide.quote import read_quote
    from perfmodel.decide.sweeps import sweep
    from perfmodel.evidence.traces.emulate import Emulator
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.interfaces.api.fleets import fleets
    from perfmodel.interfaces.api.plan import plan
    from perfmodel.interfaces.calls import (
        adaptive_synchrony,
        calibrate,
        check_quote,
        cite,
        collective,
        compare,
        compression,
        downpour,
        emulate,
        enough,
        explain,
        explain_row,
        layouts,
        learning_rate,
        model_parallel,
        networks,
        scale,
        schema,
        sensitivity,
        servers,
        specs,
        specs_check,
        stragglers,
        trace_diff,
        trace_summary,
        validate,
    )
    from perfmodel.interfaces.client import Client
    from perfmodel.interfaces.reports.write import write_report
    from perfmodel.model.options.conditions import Conditions
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.model.prediction import Prediction, predict
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
    "cite",
    "collective",
    "compare",
    "compression",
    "downpour",
    "emulate",
    "enough",
    "explain",
    "explain_row",
    "fleets",
    "layouts",
    "learning_rate",
    "model_parallel",
    "networks",
    "plan",
    "predict",
    "read_quote",
    "scale",
    "schema",
    "sensitivity",
    "servers",
    "specs",
    "specs_check",
    "stragglers",
    "sweep",
    "trace_diff",
    "trace_summary",
    "validate",
    "workload",
    "write_report",
]

_HOMES = {
    "Catalogue": "perfmodel.hardware.catalogue.store",
    "Client": "perfmodel.interfaces.client",
    "Conditions": "perfmodel.model.options.conditions",
    "Emulator": "perfmodel.evidence.traces.emulate",
    "InputError": "perfmodel.core.errors",
    "Prediction": "perfmodel.model.prediction",
    "Scenario": "perfmodel.model.options.scenario",
    "adaptive_synchrony": "perfmodel.interfaces.calls",
    "calibrate": "perfmodel.interfaces.calls",
    "check_quote": "perfmodel.interfaces.calls",
    "cite": "perfmodel.interfaces.calls",
    "collective": "perfmodel.interfaces.calls",
    "compare": "perfmodel.interfaces.calls",
    "compression": "perfmodel.interfaces.calls",
    "downpour": "perfmodel.interfaces.calls",
    "emulate": "perfmodel.interfaces.calls",
    "enough": "perfmodel.interfaces.calls",
    "explain": "perfmodel.interfaces.calls",
    "explain_row": "perfmodel.interfaces.calls",
    "fleets": "perfmodel.interfaces.api.fleets",
    "layouts": "perfmodel.interfaces.calls",
    "learning_rate": "perfmodel.interfaces.calls",
    "model_parallel": "perfmodel.interfaces.calls",
    "networks": "perfmodel.interfaces.calls",
    "plan": "perfmodel.interfaces.api.plan",
    "predict": "perfmodel.model.prediction",
    "read_quote": "perfmodel.decide.quote",
    "scale": "perfmodel.interfaces.calls",
    "schema": "perfmodel.interfaces.calls",
    "sensitivity": "perfmodel.interfaces.calls",
    "servers": "perfmodel.interfaces.calls",
    "specs": "perfmodel.interfaces.calls",
    "specs_check": "perfmodel.interfaces.calls",
    "stragglers": "perfmodel.interfaces.calls",
    "sweep": "perfmodel.decide.sweeps",
    "trace_diff": "perfmodel.interfaces.calls",
    "trace_summary": "perfmodel.interfaces.calls",
    "validate": "perfmodel.interfaces.calls",
    "workload": "perfmodel.workloads",
    "write_report": "perfmodel.interfaces.reports.write",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'perfmodel' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
