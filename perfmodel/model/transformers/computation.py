"""Computation of a whole transformer on one accelerator, for any exchange of gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.hardware.formats import GRADIENT_PASSES, OPERANDS
from perfmodel.model.options.layout import Layout
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import fabric_of_setting, known_dimensions, network_of
from perfmodel.model.transformers.held import held_parameters, trained_parameters
from perfmodel.model.transformers.job import Case, Job
from perfmodel.model.transformers.layer import rates_of
from perfmodel.model.transformers.machine import IN_32_BITS, NO_COST, Groups, chip_of
from perfmodel.model.transformers.paired import layer_of
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.software import Options, software_of
from perfmodel.model.transformers.step import head_times, overhead_time, update_time
from perfmodel.model.transformers.tower import tower_of

PASSES_OF_HEAD = 3
"""Passes of equal time of logits, loss and embeddings: forward, gradients of inputs and of weights."""
NO_GROUPS = Groups(*[NO_COST] * len(Groups._fields))


class Passes(NamedTuple):
    """Times of one micro-batch, and of an update [s]."""

    forward: Any
    """Forward pass on the accelerator, without gaps between kernels."""
    backward: Any
    paced_forward: Any
    """Forward pass with the gaps due to the host's launches."""
    paced_backward: Any
    update: Any
    overhead: Any
    """Fixed overhead of an iteration."""


def job_of_whole(setting: Setting, local_batch_size: Any, steps: Any) -> Job:
    """Return the job of one accelerator with the whole network: all degrees 1, no communication."""
    model, length = network_of(setting.workload)
    dimensions, chip = known_dimensions(model, length), chip_of(setting.accelerator, setting.precision)
    layout = Layout(micro_batch_size=local_batch_size, accumulation_steps=steps)
    states_kept = setting.precision in IN_32_BITS or setting.precision in OPERANDS
    precision = setting.precision if states_kept else "fp16"
    options = Options(precision, optimizer=setting.optimizer)
    software = software_of(setting.framework, chip, dimensions, layout, options)
    if setting.framework.adds_gradients:  # in the format they are sent in, which may be 16 bits with a layout
        added = GRADIENT_PASSES * setting.format.gradient_bytes
        software = software._replace(added_gradient_bytes=added)
    return Job(dimensions, layout, chip, software, NO_GROUPS, length * 1.0, 1.0, 1.0, 1.0, 1.0)


def case_of_whole(setting: Setting) -> Case:
    """Return a data-parallel job as a case for the fit of transformers."""
    job = job_of_whole(setting, setting.local_batch_size, setting.accumulation_steps)
    _, length = network_of(setting.workload)
    return Case(job.model, job.layout, job.chip, job.stack, fabric_of_setting(setting), length)


def passes_of(setting: Setting, p: Values, local_batch_size: Any, steps: Any) -> Passes:
    """Return the times of a transformer's passes and of its update.

    Parameters
    ----------
    setting : the network, the accelerator and the software
    p : learned parameters of transformers, by name
    local_batch_size, steps : samples of a micro-batch, and micro-batches of an iteration; numbers or arrays
    """
    job = job_of_whole(setting, local_batch_size, steps)
    rates = rates_of(job, p)
    layer = layer_of(job, p, rates)
    logits, embedding = head_times(job, p, rates)
    head = time_of_parts(logits=logits, embedding=embedding)
    forward_of_head = head / PASSES_OF_HEAD
    backward_of_head = head - forward_of_head
    gaps = layer.launches - layer.gaps_backward
    paced = layer.time - layer.backward

    tower = tower_of(job, p)
    of_images = tower.time - tower.backward if job.model.tower is not None else 0.0

    def whole(of_layer: Any, of_head: Any, images: Any) -> Any:
        parts = {"layers": job.model.layers * of_layer, "head": of_head}
        return time_of_parts(**parts, **({} if job.model.tower is None else {"images": images}))

    held = trained_parameters(job, held_parameters(job))
    return Passes(
        whole(paced - gaps, forward_of_head, of_images),
        whole(layer.backward - layer.gaps_backward, backward_of_head, tower.backward),
        whole(paced, forward_of_head, of_images),
        whole(layer.backward, backward_of_head, tower.backward),
        update_time(job, p, rates, held.dense + held.experts),
        overhead_time(job, p),
    )
