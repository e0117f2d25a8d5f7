"""Assemble a prediction of a transformer that is shared out by tensors, stages, positions or experts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from perfmodel import ops
from perfmodel.calibration import Calibration
from perfmodel.link_caveats import capped
from perfmodel.prediction.absurd import checked
from perfmodel.prediction.bound import least_iteration_time, physical
from perfmodel.prediction.collective_limit import TCP_YEARS, connections_limit, flow_binds
from perfmodel.prediction.limits import kernel_words, limit_words, with_remedy
from perfmodel.prediction.memory_odds import odds_of
from perfmodel.prediction.open_options import left_to_defaults, not_stated
from perfmodel.prediction.result import NO_UPDATES, Interval, Memory, Prediction, Traffic
from perfmodel.prediction.start_up import epoch_start, start_up, together
from perfmodel.prediction.understood import understood
from perfmodel.prediction.verdict import part, placement
from perfmodel.resolve import Setting
from perfmodel.sharing import PRECISIONS
from perfmodel.specs.layout import SELECTIVE, Layout
from perfmodel.specs.link import Link
from perfmodel.specs.software import AMPERE
from perfmodel.step.evaluate import Outcome, outcome_of, start_of
from perfmodel.step.input_wait import shared_input_time
from perfmodel.step.parts import figures
from perfmodel.step.ports import bulk_bandwidth
from perfmodel.step.terms import SHARED_TERMS, sent
from perfmodel.transformers.evaluate import (
    case_of_setting,
    network_of,
    one_replica,
)
from perfmodel.transformers.figures import figures_of
from perfmodel.transformers.job import Job, job_of
from perfmodel.transformers.layer import layer_of, rates_of
from perfmodel.transformers.memory import memory_of, memory_of_ends
from perfmodel.transformers.parameters import fitted
from perfmodel.transformers.step import Step, step_of
from perfmodel.transformers.traffic import Row, moved, traffic_of
from perfmodel.transformers.uncertainty import ends, novelty, why_wider, widenings, with_open
from perfmodel.transformers.words import short
from perfmodel.units import show

MANY = 2.0**16
"""Samples of a micro-batch whose activations take more than gradients."""


def shared_prediction(setting: Setting, constants: Calibration) -> Prediction:
    """Return the prediction of a setting with a layout."""
    layout = layout_of_setting(setting)
    model, _ = network_of(setting.workload)
    case, learned = case_of_setting(setting), fitted().parameters
    job = job_of(case)
    layer = layer_of(job, learned, rates_of(job, learned))
    step = step_of(job, learned, layer)
    start = start_of(setting, constants)
    result = outcome_of(setting, step, constants, start)
    time, factor = float(result.iteration_time), result.anchor_factor
    single = one_replica(layout, setting.scaling == "strong")
    # experts that are shared out over replicas are not in the same place in one alone
    same = layer if layout.expert_parallel == 1 else None
    alone = step_of(job_of(case._replace(layout=single)), learned, same).iteration_time * factor
    baseline_time = float(alone + shared_input_time(setting, single, alone, constants))
    if single == layout:
        baseline_time = time  # added up in another order, it is another number by its last digit
    exposed = float(sent(result.terms))
    rows = cache(partial(_rows, job, step, factor))
    step = Step(*(part * factor for part in step))
    come_to = figures(setting, time, baseline_time, exposed, layout.data_parallel)
    more = figures_of(model, case, step, time)
    memory = memory_needed(job, setting)
    others = widenings(model, case.sequence_length, PRECISIONS[setting.precision], come_to["mfu"])
    new = novelty(model, setting.accelerator.id, setting.software, others=others)
    if start is None:
        new = with_open(new, left_to_defaults(setting))
        spread, reasons, scale = new.spread, why_wider(new), float(new.common)
    else:
        from perfmodel.prediction.own_transformers import narrowed

        spread, reasons, scale = narrowed(setting, new, start)
    uncertain = Interval.model_construct(
        **ends(time, spread, new.scale),
        no_95=new.scale.no_95,
        wider_because=reasons,
        clipped_at=None,
        scale=scale,
    )
    warnings = list(setting.warnings)
    least_time = least_iteration_time(setting)
    if start is not None:
        from perfmodel.prediction.own_transformers import remarks

        warnings += remarks(setting, (float(new.spread), spread), start, constants, time, least_time)
    warnings += _caveats(setting, layout, bool(case.stack.flash) and not case.stack.checkpoints_operations)
    if come_to["scaling_efficiency"] > 1:
        warnings.append(
            "scaling efficiency above 100 %: replicas share weight updates that one replica alone does whole"
        )
    if not memory.fits:
        warnings.append(_does_not_fit(memory))
    limit = cache(partial(_network_limit, setting, job))
    link = setting.inter_link if setting.domains > 1 else setting.intra_link
    startup = partial(_start_up, setting, constants, layout.data_parallel, link)
    return Prediction.model_construct(
        iteration_time=time,
        terms={name: float(each) for name, each in result.terms.items()},
        interval=physical(uncertain, time, least_time),
        mode="specs" if start is None else "anchored",
        model="transformer",
        sample=setting.workload.sample,
        scaling="weak" if setting.scaling == "weak" else "strong",
        baseline_time=baseline_time,
        communication_time=partial(_sent_time, rows),
        **come_to,
        memory=memory,
        verdict=partial(_verdict, result, limit),
        network_limit=limit,
        placement=partial(_placement, setting, layout),
        defaults=list(setting.defaults),
        warnings=warnings,
        scenario=partial(understood, setting),
        traffic=partial(_sent, rows),
        layout=layout.words,
        hfu=come_to["mfu"] * more.again,
        model_flops=more.model_flops,
        bubble_fraction=more.bubble_fraction,
        startup_time=partial(together, startup),
        startup=startup,
        epoch_start_time=epoch_start(setting, constants),
        **NO_UPDATES,
    )


def _rows(job: Job, step: Step, factor: Any) -> list[Row]:
    """Return what every group sends, a measured run's factor in its times."""
    return [moved(row, factor) for row in traffic_of(job, step, fitted().parameters)]


def _sent_time(rows: Callable[[], list[Row]]) -> float:
    return float(sum(row.time for row in rows()))


def _sent(rows: Callable[[], list[Row]]) -> list[Traffic]:
    """Return what groups of several ranks send."""
    return [
        Traffic.model_construct(
            group=row.group,
            collective=row.collective,
            ranks=int(row.ranks),
            messages=float(row.messages),
            message_bytes=float(row.message_bytes),
            time=float(row.time),
            exposed_time=float(row.exposed_time),
        )
        for row in rows()
        if row.ranks > 1
    ]


def _placement(setting: Setting, layout: Layout) -> str:
    return f"{placement(setting)}; {short(layout.words())}"


def _start_up(setting: Setting, constants: Calibration, copies: int, link: Link) -> dict[str, float]:
    return checked(start_up, setting, constants, copies, bulk_bandwidth(link, constants))


def layout_of_setting(setting: Setting) -> Layout:
    """Return the layout of a setting that has one."""
    assert setting.layout is not None
    return setting.layout


def memory_needed(job: Job, setting: Setting) -> Memory:
    """Return what the fullest accelerator keeps, and the largest micro-batch that fits in the same passes."""
    of_job = memory_of(job)
    rows = {name: float(each) for name, each in of_job._asdict().items()}
    needed, capacity = sum(rows.values()), setting.accelerator.memory_capacity
    unknown = not_stated(setting)
    return Memory.model_construct(
        bytes=needed,
        capacity=capacity,
        fits=needed <= capacity,
        **odds_of(needed, capacity, unknown)._asdict(),
        not_stated=unknown,
        largest_local_batch_size=int(largest_micro_batch(job, capacity)),
        rows=rows,
    )


def largest_micro_batch(job: Job, capacity: float) -> Any:
    """Return the largest micro-batch that fits, 0 where none does.

    The memory of each end of a pipeline grows by as much with every sample of a micro-batch, but by less
    while activations take less than the gradients that are made in their place.

    Parameters
    ----------
    job : one, or many as arrays
    capacity : of an accelerator [B]
    """

    def most(micro: float) -> list[Any]:
        layouts = (job.layout._replace(micro_batch_size=each) for each in (micro, micro + 1))
        sizes = (memory_of_ends(job._replace(layout=layout)) for layout in layouts)
        ends = ((now.total, larger.total) for now, larger in zip(*sizes, strict=True))
        return [micro + (capacity - now) / ops.maximum(larger - now, 1.0) for now, larger in ends]

    first, last = (
        ops.maximum(0.0, ops.floor(ops.minimum(*each))) for each in zip(most(1.0), most(MANY), strict=True)
    )
    return ops.where(job.layout.pipeline_parallel > 1, ops.minimum(first, last), last)


def unfit_layout(setting: Setting) -> str | None:
    """Say that the layout of a setting does not fit into memory; None where it does."""
    memory = memory_needed(job_of(case_of_setting(setting)), setting)
    return None if memory.fits else _does_not_fit(memory)


def _does_not_fit(memory: Memory) -> str:
    gib = 2**30
    needed = f"{memory.verdict}: {memory.bytes / gib:.1f} GiB needed, {memory.capacity / gib:.1f} GiB there"
    if memory.largest_local_batch_size:
        return f"{needed}; the largest micro-batch that does is {memory.largest_local_batch_size}"
    return f"{needed}; not even a micro-batch of 1 does; perfmodel layouts lists what would"


def _caveats(setting: Setting, layout: Layout, selects_nothing: bool) -> list[str]:
    """Return what is possible and poor on this machine."""
    remarks = []
    own = setting.accelerator.compute_capability
    if own and own < setting.framework.flash_from <= AMPERE:
        remarks.append(
            f"attention keeps its scores on {setting.accelerator.id}: the kernels of {setting.software} that "
            f"keep none need compute capability {setting.framework.flash_from:g}, it has {own:g}"
        )
    domain = setting.accelerators_per_domain
    if layout.tensor_parallel > domain:
        remarks.append(
            f"tensor parallelism of {layout.tensor_parallel} leaves {setting.intra_link.id}, "
            f"which joins {domain}"
        )
    if layout.recompute == SELECTIVE and selects_nothing:
        remarks.append("--recompute selective changes nothing where attention keeps no scores")
    return remarks


def _network_limit(setting: Setting, job: Job) -> str | None:
    """Return what binds the exchange of replicas over adapters, other than their ports, in words."""
    at, learned = job.groups.gather, fitted().parameters
    if not at.outer_wire_time:
        return None
    link, asked = setting.inter_link, setting.scenario
    if capped(link, setting.node, setting.nics, asked.network_cap) is not link:
        return with_remedy(limit_words(setting, "machine"), "machine")
    alone = link.bandwidth.value * float(at.outer_wire_time) / float(at.wire_time)
    share = learned["between"]
    if flow_binds(link, setting.connections):
        return connections_limit(link, setting.connections, alone)
    if alone > share * link.bandwidth.value:
        return (
            f"computation beside it: a collective gets at most {share:.0%} of a port then, "
            f"{show(share * link.bandwidth.value, 'B/s')} of {link.id}, and {show(alone, 'B/s')} alone "
            "(perfmodel collective)"
        )
    if link.passes_kernel:
        return with_remedy(kernel_words(alone, setting.connections, TCP_YEARS), "kernel")
    return None


def _verdict(result: Outcome, network_limit: Callable[[], str | None]) -> str:
    shares: dict[str, float] = {}
    for name, time in result.terms.items():
        bound = SHARED_TERMS[name].bound
        shares[bound] = shares.get(bound, 0.0) + float(time)
    whole_time = float(result.iteration_time)
    most = max(shares, key=shares.__getitem__)
    said = [f"{most}: {shares[most] / whole_time:.0%} of the iteration"]
    others: dict[str, Any] = {
        SHARED_TERMS[name].label: float(time)
        for name, time in result.terms.items()
        if SHARED_TERMS[name].kind not in ("busy",) and time / whole_time > 0.02
    }
    largest = sorted(others.items(), key=lambda each: -each[1])[:3]
    if largest:
        said.append(
            "besides computation: "
            + ", ".join(f"{label} {part(time / whole_time)} ({show(time, 's')})" for label, time in largest)
        )
    if most == "communication-bound" and (limit := network_limit()) is not None:
        said.append(f"what binds is {limit}")
    return "; ".join(said)
