"""First layers without experts, which take another time than those that follow."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.transformer_pipeline import time_of_others
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.layer import Layer, Rates
from perfmodel.model.transformers.paired import layer_of
from perfmodel.model.transformers.parameters import Values


class LayerPasses(NamedTuple):
    """Times of one layer for one micro-batch [s]."""

    time: Any
    """Forward and backward."""
    forward: Any
    weights: Any
    """Backward to the weights."""


def stage_layers(job: Job, p: Values, rates: Rates, layer: Layer) -> tuple[LayerPasses, LayerPasses]:
    """Return the passes of a layer after the first ones without experts, and of one of these.

    All layers together take as long as with the mean.  In one stage, and without such layers, both are the
    mean.

    Parameters
    ----------
    job, p, rates : as for ``layer_of``
    layer : the mean layer
    """
    mean = LayerPasses(layer.time, layer.time - layer.backward, layer.weights)
    model = job.model
    apart = (model.first_dense > 0) & (job.layout.pipeline_parallel > 1)
    if not any_of(apart):
        return mean, mean
    base = model.layer_types.attention.model if model.layer_types is not None else model
    first = layer_of(job._replace(model=base._replace(dense_share=1.0, layer_types=None)), p, rates)
    leading = LayerPasses(first.time, first.time - first.backward, first.weights)
    others = (
        time_of_others(model.layers, model.first_dense, *each) for each in zip(mean, leading, strict=True)
    )
    return (
        LayerPasses(*(ops.where(apart, *each) for each in zip(others, mean, strict=True))),
        LayerPasses(*(ops.where(apart, *each) for each in zip(leading, mean, strict=True))),
    )
