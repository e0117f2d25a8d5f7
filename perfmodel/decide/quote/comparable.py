"""Whether a similar measured run is a test of a claim, and whether it did as well."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Literal

from perfmodel.core.errors import InputError
from perfmodel.decide.quote.completed_job import changed
from perfmodel.decide.quote.similar_runs import peak_in
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.software import parts
from perfmodel.model.prediction import predict
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
SLOWER = 1.1
"""Ratio of predicted times above which links or software of a run are slower than those of a claim, so that
it is no test (a choice)."""
ROUNDED = 0.005
"""Relative amount by which a run may miss a claim, which has three digits."""


def reaches(value: float, claimed: float, higher_is_better: bool) -> bool:
    """Return whether a measured value is as good as a claimed one, to three digits.

    >>> reaches(996.0, 1000.0, True), reaches(990.0, 1000.0, True), reaches(990.0, 1000.0, False)
    (True, False, True)
    """
    return (value / claimed if higher_is_better else claimed / value) >= 1 - ROUNDED


IsSlower = Callable[..., bool]
"""Whether a job is slower with other options, by their names."""


def slower_test(setting: Setting, time: float, catalogue: Catalogue, but: Collection[str] = ()) -> IsSlower:
    """Return a test whether the model expects a claimed job to be slower with some other options.

    Slower is by more than ``SLOWER``, or what the job cannot be trained with at all.

    Parameters
    ----------
    setting, time : of the claimed job, and its predicted time of a step [s]
    catalogue : where hardware is looked up
    but : options that are never slower
    """

    @cache
    def is_slower(**options: Any) -> bool:
        if options.keys() <= {*but}:
            return False
        try:
            other = predict(changed(setting.scenario, **options), catalogue)
        except InputError:
            return True
        return other.iteration_time > SLOWER * time

    return is_slower


def predicted_differences(
    software: str | None, links: Mapping[str, Any], setting: Setting, is_slower: IsSlower
) -> list[Difference]:
    """Return by what a run is no test of a claim, as the model expects less of its software or its links.

    Of software that the quote states, its name decides; a claim that states none is of the best there is.

    Parameters
    ----------
    software : of the run
    links : options of the run's links
    setting : the claimed job
    is_slower : as of ``slower_test``
    """
    result: list[Difference] = []
    is_open = setting.scenario.framework is None and software is not None
    if is_open and parts(software or "")[0] != setting.software_name and is_slower(framework=software):
        result.append("software")
    if links and is_slower(**links):
        result.append("network link")
    return result


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
    if bandwidth is not None and (setting.domains == 1 or bandwidth * ALIKE < own):
        result.append("network link")
    return result


def run_differences(
    run: Run, software: str | None, setting: Setting, catalogue: Catalogue, is_slower: IsSlower
) -> list[Difference]:
    """Return the properties by which a data-parallel run of the claimed network is no test of a claim.

    Parameters
    ----------
    run, software : the run, and its software; None where that does not count
    setting, catalogue : the claimed job, and where hardware is looked up
    is_slower : as of ``slower_test``
    """
    bandwidth = None
    if run.nodes > 1 and run.inter_link in catalogue.ids("links"):
        adapters = run.nics or setting.nics  # as many where the source does not say
        bandwidth = adapters * catalogue.link(run.inter_link).bandwidth.value * run.nodes / run.world_size
    machines = (run.accelerator, run.precision, software, run.world_size, bandwidth)
    result = machine_differences(*machines, setting)
    links = _links(run, setting, catalogue)
    result += [
        each for each in predicted_differences(software, links, setting, is_slower) if each not in result
    ]
    if run.local_batch_size and run.local_batch_size * ALIKE < setting.local_batch_size:
        result.append("batch")
    if run.strategy not in (setting.strategy, "single"):
        result.append("strategy")
    scenario = setting.scenario
    if run.input == "real" and scenario.input != "real" and "input" in scenario.model_fields_set:
        result.append("input")
    return result


def _links(run: Run, setting: Setting, catalogue: Catalogue) -> dict[str, Any]:
    """Return the options of the links of a run where they are others than those of a claim."""
    links: dict[str, Any] = {}
    if run.nodes > 1 and setting.domains > 1 and run.inter_link in catalogue.ids("links"):
        links = {"inter_link": run.inter_link, "nics": run.nics or setting.nics}
        same = (setting.inter_link.id, setting.nics)
        links = {} if tuple(links.values()) == same else links
    inside = run.world_size > run.nodes and setting.accelerators_per_node > 1
    if inside and run.intra_link in catalogue.ids("links") and run.intra_link != setting.intra_link.id:
        links["intra_link"] = run.intra_link
    return links
