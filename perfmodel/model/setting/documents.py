"""Documents that are packed into the sequences of a scenario's network."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perfmodel.core.errors import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.model.options.scenario import Scenario
    from perfmodel.workloads.workload import Workload


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
