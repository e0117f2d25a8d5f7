"""The network of a scenario with the scenario's data: its data set, and documents packed into sequences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perfmodel.core.errors import refusal
from perfmodel.model.input.data import with_scenario_data
from perfmodel.workloads.catalogue import network

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.model.options.scenario import Scenario
    from perfmodel.workloads.workload import Workload


def network_of_scenario(scenario: Scenario, warnings: list[str]) -> Workload:
    """Return the network of a scenario with the scenario's data; warn of options without effect.

    Raises
    ------
    InputError : as for ``with_scenario_data`` and ``with_documents``; an unknown network
    """
    named = network(scenario.workload, scenario.sequence_length)
    return with_documents(with_scenario_data(named, scenario, warnings), scenario, warnings.append)


def with_documents(workload: Workload, scenario: Scenario, remark: Callable[[str], None]) -> Workload:
    """Return a workload whose sequences hold the documents of a scenario; other networks stay as they are.

    Parameters
    ----------
    workload, scenario : of the job
    remark : called with a warning of an option without effect

    Raises
    ------
    InputError : documents of an encoder-decoder
    """
    length, model = scenario.document_length, workload.architecture
    if length is None:
        if scenario.document_spread:
            remark("--document-spread without effect: --document-length states no packed documents")
        return workload
    if model is None or workload.tokens is None:
        return workload  # refused as an option of transformers
    if model.encoder_layers:
        raise refusal("layout.documents", "document_length", workload=workload.id)
    if length >= workload.tokens:
        remark(f"--document-length {length} without effect: a sequence has {workload.tokens} tokens")
        return workload
    packed = model._replace(document_length=length, document_spread=scenario.document_spread)
    return replace(workload, architecture=packed)
