"""Read a user's own nccl-tests: times of large all-reduces, from which the rate of the network is learned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_text
from perfmodel.core.problem import Words
from perfmodel.evidence.fitting.own_runs import OwnRun
from perfmodel.evidence.traces.nccl_tests import is_nccl_tests, read_nccl_tests
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.step.communication import message_times
from perfmodel.model.step.fabric import fabric
from perfmodel.model.step.parts import communicates

LEAST_BYTES = 8e6
"""Least size of messages whose time is that of the bandwidth, not of the latency [B]."""
NOT_OF_A_NETWORK = {
    "strategy": "nccl-tests run all-reduces",
    "compression": "nccl-tests send what is not compressed",
    "anchor": "a measured step says nothing of single messages",
    "profile": "a profile is of an accelerator, not of its network",
    "calibration": "the fit that comes along is updated; give the runs behind that file by --data too",
}
"""Option of a job that does not apply to nccl-tests -> reason."""
LEAST_NOISE = 0.03
"""Standard deviation of a file's logarithmic error in addition to its scatter over sizes (assumed)."""


def read_own_fabric(files: Sequence[str], scenario: Scenario, catalogue: Catalogue) -> list[OwnRun]:
    """Return the all-reduces of each file as one run that updates the fit of the network.

    Parameters
    ----------
    files : paths of outputs of all_reduce_perf
    scenario : job on the same network
    catalogue : hardware

    Raises
    ------
    InputError : a file is no output of all_reduce_perf, has another number of ranks than the job, or no
        messages of ``LEAST_BYTES``; or an option of ``NOT_OF_A_NETWORK`` is set
    """
    for name, why in NOT_OF_A_NETWORK.items() if files else ():
        value = getattr(scenario, name)
        if name in scenario.model_fields_set and value not in (None, "all-reduce"):
            raise refusal("fit.not_collectives", name, value=value, why=Words(why))
    return [_run(file, scenario, catalogue) for file in files]


def _run(file: str, scenario: Scenario, catalogue: Catalogue) -> OwnRun:
    """Return the large all-reduces of one file; the variance of its error is that of its mean over sizes."""
    text = read_text(file)
    if not is_nccl_tests(text):
        raise refusal("fit.no_nccl_tests").under(file)
    timings = read_nccl_tests(Path(file), text)
    if timings.collective != "all-reduce":
        raise refusal("fit.no_all_reduce", collective=timings.collective or "nothing is reduced").under(file)
    ranks = timings.group_size
    if "world_size" not in scenario.model_fields_set:
        scenario = scenario.model_copy(update={"world_size": ranks or 1})
    if ranks not in (None, scenario.world_size):
        raise refusal("fit.gpus", ranks=ranks, world_size=scenario.world_size).under(file)
    setting, _ = settled(scenario, catalogue, calibration())
    if not communicates(setting):
        raise refusal("fit.one_rank").under(file)
    large = [row for row in timings.rows if row.message_bytes >= LEAST_BYTES]
    if not large:
        raise refusal("fit.no_large", least_bytes=LEAST_BYTES / 1000000.0).under(file)
    sizes = tuple(row.message_bytes for row in large)
    measured = np.log([row.time for row in large])
    predicted = np.log(message_times(setting, np.array(sizes), fabric(setting, calibration())))
    noise = LEAST_NOISE**2 + float(np.var(measured - predicted)) / len(large)
    machines = f"{setting.world_size} x {accelerator_words(setting.accelerator)}"
    name = f"all-reduces of {len(large)} sizes on {machines}"
    return OwnRun(Path(file).name, name, setting, float(np.exp(measured.mean())), sizes, noise)
