"""The encoder of images in front of a language model, which sits on the first stage of its layout.

Tensor parallelism splits it as the language model; ranks that split a sequence each encode all images.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.layer import Rates, layer_alone, rates_of
from perfmodel.model.transformers.machine import NO_COST
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.products import three_products


class TowerTimes(NamedTuple):
    """Times of the images of one micro-batch, forward and backward together [s]."""

    products: Any = 0.0
    attention: Any = 0.0
    elementwise: Any = 0.0
    recomputation: Any = 0.0
    launches: Any = 0.0
    tensor: Any = 0.0
    backward: Any = 0.0
    """Part of the total in the backward pass."""

    @property
    def time(self) -> Any:
        """Forward and backward [s]."""
        return time_of_parts(**{name: getattr(self, name) for name in self._fields[:-1]})


NO_TOWER = TowerTimes()


def tower_job(job: Job) -> Job:
    """Return a job of the encoder alone: every image is a sequence."""
    tower, layout = job.model.tower, job.layout
    images = layout._replace(
        micro_batch_size=layout.micro_batch_size * tower.images, context_parallel=1, expert_parallel=1
    )
    groups = job.groups and job.groups._replace(context=NO_COST)
    return job._replace(model=tower.encoder, layout=images, groups=groups, sequence_length=tower.positions)


def tower_of(job: Job, p: Values) -> TowerTimes:
    """Return the times of a job's encoder of images with its projector; zeros without one.

    A frozen encoder has no backward pass, nor has one in front of adapters.
    """
    if job.model.tower is None:
        return NO_TOWER
    tower, images, where = job.model.tower, tower_job(job), ops.where
    rates = rates_of(images, p)
    layer, layers = layer_alone(images, p, rates), tower.encoder.layers
    trains, adapts = trains_tower(job), job.stack.adapts
    share = where(trains, 1.0, (layer.time - layer.backward) / layer.time)  # of a frozen one the forward pass
    patches = three_products(
        images, p, rates, images.tokens, tower.patch_elements, tower.encoder.hidden, frozen=True
    )[0]
    forward, backward = _projector(job, images, p, rates)
    backward = where(adapts, 0.0, backward)
    weights = where(trains, patches, 0.0)  # the gradient of the patches' weights costs as much
    products = time_of_parts(
        layers=share * layers * layer.products,
        patches=patches,
        weights=weights,
        projector=forward,
        projector_backward=backward,
    )
    return TowerTimes(
        products,
        share * layers * layer.attention,
        share * layers * layer.elementwise,
        share * layers * layer.recomputation,
        share * layers * layer.launches,
        share * layers * layer.tensor,
        time_of_parts(
            layers=where(trains, layers * layer.backward, 0.0), weights=weights, projector=backward
        ),
    )


def trains_tower(job: Job) -> Any:
    """Return whether the weights of the encoder are trained."""
    return (job.model.tower.frozen == 0) & (job.stack.adapts == 0)


def _projector(job: Job, images: Job, p: Values, rates: Rates) -> tuple[Any, Any]:
    """Return the times of the projector's products, forward and backward [s]."""
    tower = job.model.tower
    rows, tensor = images.layout.micro_batch_size * tower.image_tokens, job.layout.tensor_parallel
    if not any_of(tower.inner > 0):
        return three_products(images, p, rates, rows, tower.joined, tower.text_hidden / tensor)
    times = [
        three_products(images, p, rates, rows, depth, columns, tower.mergers)
        for depth, columns in (
            (tower.joined, tower.inner / tensor),
            (tower.inner / tensor, tower.text_hidden),
        )
    ]
    forward, backward = (time_of_parts(first=times[0][side], second=times[1][side]) for side in (0, 1))
    return forward, backward


def tower_parameters(job: Job, share: Any) -> Any:
    """Return the parameters of an encoder and its projector on a rank that holds a ``share`` of them."""
    tower = job.model.tower
    if tower is None:
        return 0.0
    return share * (tower.encoder_parameters + tower.projector_parameters) / job.layout.tensor_parallel


def frozen_parameters(job: Job, share: Any) -> Any:
    """Return those of ``tower_parameters`` that are not trained in a job without adapters."""
    tower = job.model.tower
    if tower is None:
        return 0.0
    return share * tower.frozen * tower.encoder_parameters / job.layout.tensor_parallel
