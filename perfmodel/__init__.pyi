"""Made by ``python -m perfmodel.interfaces.stub`` from the register of commands."""

from perfmodel.core.errors import InputError
from perfmodel.decide.quote import read_quote
from perfmodel.evidence.traces.emulate import Emulator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.calls import adaptive_synchrony
from perfmodel.interfaces.calls import calibrate
from perfmodel.interfaces.calls import check_quote
from perfmodel.interfaces.calls import cite
from perfmodel.interfaces.calls import collective
from perfmodel.interfaces.calls import compare
from perfmodel.interfaces.calls import compression
from perfmodel.interfaces.calls import diagnose
from perfmodel.interfaces.calls import downpour
from perfmodel.interfaces.calls import emulate
from perfmodel.interfaces.calls import enough
from perfmodel.interfaces.calls import explain
from perfmodel.interfaces.calls import explain_row
from perfmodel.interfaces.calls import fits
from perfmodel.interfaces.calls import fleets
from perfmodel.interfaces.calls import layouts
from perfmodel.interfaces.calls import learning_rate
from perfmodel.interfaces.calls import model_parallel
from perfmodel.interfaces.calls import networks
from perfmodel.interfaces.calls import plan
from perfmodel.interfaces.calls import scale
from perfmodel.interfaces.calls import schema
from perfmodel.interfaces.calls import sensitivity
from perfmodel.interfaces.calls import servers
from perfmodel.interfaces.calls import specs
from perfmodel.interfaces.calls import specs_check
from perfmodel.interfaces.calls import stragglers
from perfmodel.interfaces.calls import sweep
from perfmodel.interfaces.calls import trace_diff
from perfmodel.interfaces.calls import trace_summary
from perfmodel.interfaces.calls import validate
from perfmodel.interfaces.client import Client
from perfmodel.interfaces.reports.write import write_report
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction import predict
from perfmodel.workloads import workload

__version__: str
_HOMES: dict[str, str]
__all__ = [
    'Catalogue',
    'Client',
    'Conditions',
    'Emulator',
    'InputError',
    'Prediction',
    'Scenario',
    'adaptive_synchrony',
    'calibrate',
    'check_quote',
    'cite',
    'collective',
    'compare',
    'compression',
    'diagnose',
    'downpour',
    'emulate',
    'enough',
    'explain',
    'explain_row',
    'fits',
    'fleets',
    'layouts',
    'learning_rate',
    'model_parallel',
    'networks',
    'plan',
    'predict',
    'read_quote',
    'scale',
    'schema',
    'sensitivity',
    'servers',
    'specs',
    'specs_check',
    'stragglers',
    'sweep',
    'trace_diff',
    'trace_summary',
    'validate',
    'workload',
    'write_report',
]
