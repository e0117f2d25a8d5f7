"""Layers whose exchange with experts runs next to the computation of another micro-batch."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.equations.exchange import hiding_cost_of_units
from perfmodel.equations.expert_exchange import exposed_exchange_time
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.model.transformers.experts import overlapped_share
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.layer import Layer, Rates, layer_alone
from perfmodel.model.transformers.parameters import Values


def layer_of(job: Job, p: Values, rates: Rates) -> Layer:
    """Return the times of the mean layer, averaged over layers with and without experts."""
    return with_overlap(job, p, layer_alone(job, p, rates))


def with_overlap(job: Job, p: Values, layer: Layer) -> Layer:
    """Return a layer with what is left of its exchange where the pipeline pairs passes of two micro-batches.

    The tokens of a forward and a backward pass travel while the same passes of another micro-batch compute.
    """
    if not any_of(job.stack.hides_experts) or not any_of(job.layout.expert_parallel > 1):
        return layer
    computed = time_of_parts(
        products=layer.products, attention=layer.attention, elementwise=layer.elementwise
    )
    exposed = exposed_exchange_time(layer.sent, computed, overlapped_share(job), hiding_cost(job, p))
    hidden = layer.sent - exposed
    return layer._replace(experts=layer.experts - hidden, backward=layer.backward - hidden / 2, sent=exposed)


def hiding_cost(job: Job, p: Values) -> Any:
    """Return the computation lost for each second of hidden communication [1]."""
    of_units = hiding_cost_of_units(p["contention"], job.chip.compute_units)
    return ops.where(job.chip.is_tpu, p["contention"], of_units)
