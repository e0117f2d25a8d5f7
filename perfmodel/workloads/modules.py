"""Networks trained with modules that predict further tokens (DeepSeek-V3, GLM-4.5, Qwen3-Next)."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from perfmodel.core.errors import refusal
from perfmodel.core.units import plural
from perfmodel.workloads.networks.transformer import layers_of
from perfmodel.workloads.workload import Workload

_PARTS = " and "
"""Between the parts of ``Workload.without``."""


@lru_cache(maxsize=64)
def with_modules(network: Workload, modules: int | None) -> Workload:
    """Return a network with ``modules`` after its last layer that each predict one token more.

    Raises
    ------
    InputError : a network that does not predict the next token

    >>> from perfmodel.workloads.catalogue import workload
    >>> found = with_modules(workload("qwen3-next-80b-a3b"), 1)
    >>> f"{found.parameters:,}", found.without
    ('81,324,862,720', '')
    """
    if not modules:
        return network
    model, length = network.architecture, network.tokens
    if model is None or length is None or not model.predicts_next_token:
        raise refusal("workload.modules", "mtp_layers", name=network.id)
    model = model._replace(mtp_layers=modules)
    kept = [part for part in network.without.split(_PARTS) if "that predict" not in part]
    words = f"{network.variant}; {modules} {plural('module', modules)} for further tokens"
    return replace(
        network,
        architecture=model,
        layers=tuple(layers_of(model, length)),
        without=_PARTS.join(kept),
        variant=words,
    )
