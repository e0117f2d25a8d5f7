"""Whether a similar measured run is a test of a claim, and whether it did as well."""

from __future__ import annotations

from typing import Literal

from perfmodel.decide.quote.similar_runs import peak_in
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.software import parts
from perfmodel.model.setting.resolve import Setting

Difference = Literal[
    "accelerator",
    "precision",
    "software",
    "network",
    "sequence length",
    "number of accelerators",
    "network link",
    "batch",
    "strategy",
    "input",
    "baseline",
    "message size",
]
"""What makes a run no test of a claim."""
ALIKE = 2.0
"""Factor in FLOP per token, sequence length, accelerators, bandwidth between nodes, batch or message size up
to which a run is a test of a claim (a choice).  Fewer accelerators, more bandwidth, a larger batch and larger
messages are easier: they always are."""
ROUNDED = 0.005
"""Relative amount by which a run may miss a claim, which has three digits."""


def reaches(value: float, claimed: float, higher_is_better: bool) -> bool:
    """Return whether a measured value is as good as a claimed one, to three digits.

    >>> reaches(996.0, 1000.0, True), reaches(990.0, 1000.0, True), reaches(990.0, 1000.0, False)
    (True, False, True)
    """
    return (value / claimed if higher_is_better else claimed / value) >= 1 - ROUNDED


def machine_differences(
    accelerator: str,
    precision: str,
    software: str | None,
    world_size: float,
    bandwidth: float | None,
    setting: Setting,
) -> list[Difference]:
    """Return the properties of a run's machines and software by which it is no test of a claim.

    Parameters
    ----------
    accelerator, precision, software, world_size : of the run
    bandwidth : between its nodes, for each accelerator [B/s]; None in one node
    setting : the claimed job; software that its quote does not state may be any
    """
    result: list[Difference] = []
    if accelerator != setting.accelerator.id:
        result.append("accelerator")
    if peak_in(precision, setting) != setting.peak_flops:  # or unknown
        result.append("precision")
    stated = setting.scenario.framework is not None
    if stated and (software is None or parts(software)[0] != setting.software_name):
        result.append("software")
    if world_size > ALIKE * setting.world_size:
        result.append("number of accelerators")
    own = setting.nics * setting.inter_link.bandwidth.value / setting.accelerators_per_node
    if bandwidth is not None and setting.domains > 1 and bandwidth * ALIKE < own:
        result.append("network link")
    return result


def run_differences(
    run: Run, software: str | None, setting: Setting, catalogue: Catalogue
) -> list[Difference]:
    """Return the properties by which a data-parallel run of the claimed network is no test of a claim."""
    bandwidth = None
    if run.nodes > 1 and run.inter_link in catalogue.ids("links"):
        adapters = run.nics or setting.nics  # as many where the source does not say
        bandwidth = adapters * catalogue.link(run.inter_link).bandwidth.value * run.nodes / run.world_size
    machines = (run.accelerator, run.precision, software, run.world_size, bandwidth)
    result = machine_differences(*machines, setting)
    if run.local_batch_size and run.local_batch_size * ALIKE < setting.local_batch_size:
        result.append("batch")
    if run.strategy not in (setting.strategy, "single"):
        result.append("strategy")
    scenario = setting.scenario
    if run.input == "real" and scenario.input != "real" and "input" in scenario.model_fields_set:
        result.append("input")
    return result
