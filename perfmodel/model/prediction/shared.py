"""Assembly of the prediction of a transformer with a layout."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from perfmodel.core.units import per_cent, show
from perfmodel.hardware.machine_words import accelerator_words, link_words
from perfmodel.hardware.software import AMPERE
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.layout import SELECTIVE, Layout
from perfmodel.model.prediction.collectives.collective_limit import TCP_YEARS, connections_limit, flow_binds
from perfmodel.model.prediction.intervals.bound import interval_of
from perfmodel.model.prediction.layout_numbers import job_of_layouts
from perfmodel.model.prediction.limits import kernel_words, lifted_by, limit_words, with_remedy
from perfmodel.model.prediction.memory import does_not_fit, memory_needed
from perfmodel.model.prediction.numbers import Evaluated, prediction_of
from perfmodel.model.prediction.open_options import left_to_defaults
from perfmodel.model.prediction.result import Prediction, Traffic
from perfmodel.model.prediction.verdict import largest_bound, placement
from perfmodel.model.setting.link_caveats import capped
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import start_of
from perfmodel.model.step.model_flops import counted_flops
from perfmodel.model.step.terms import TERMS
from perfmodel.model.transformers.evaluate import (
    case_of_setting,
    network_of,
)
from perfmodel.model.transformers.figures import again_over_model
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.layout_words import short
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.traffic import Row
from perfmodel.model.transformers.uncertainty import why_wider


def shared_prediction(setting: Setting, constants: Calibration) -> Prediction:
    """Return the prediction of a setting with a layout."""
    layout, case = layout_of_setting(setting), case_of_setting(setting)
    model, _ = network_of(setting.workload)
    start = start_of(setting, constants)
    job, ranks, rows, new, spread, least_time = job_of_layouts(
        setting, case, constants, start, left_to_defaults(setting)
    )
    reasons: Any = partial(why_wider, new)
    scale, terms = float(new.common), job.terms
    if start is not None:
        from perfmodel.model.prediction.intervals.own_transformers import narrowed

        _, reasons, scale = narrowed(setting, new, start)
    memory = memory_needed(setting, constants, job.need)

    def warnings() -> list[str]:
        """Return the warnings of the prediction."""
        result = list(setting.warnings)
        if start is not None:
            from perfmodel.model.prediction.intervals.own_transformers import remarks

            time, spreads = float(job.iteration_time), (float(new.spread), float(spread))
            result += remarks(setting, spreads, start, constants, time, least_time)
        result += _caveats(setting, layout, bool(case.stack.flash) and not case.stack.checkpoints_operations)
        if job.figures["scaling_efficiency"] > 1:
            result.append(
                "scaling efficiency above 100 %: replicas divide weight updates that one replica does whole"
            )
        return result if memory.fits else [*result, does_not_fit(setting, memory)]

    again = again_over_model(model, layout, case.stack, case.sequence_length, float(layout.global_batch_size))
    idle = float(terms["bubble_time"] + terms["unequal_stages_time"])
    limit = cache(partial(_network_limit, setting, ranks))
    return prediction_of(
        job,
        constants,
        interval=interval_of(
            dict(job.ends),
            least_time,
            no_95=new.scale.no_95,
            wider_because=reasons,
            sources=new.scale.sources,
            scale=scale,
        ),
        mode="specs" if start is None else "anchored",
        memory=memory,
        verdict=partial(_verdict, job, limit),
        network_limit=limit,
        placement=partial(_placement, setting, layout),
        warnings=warnings,
        traffic=partial(_sent, rows),
        hfu=job.figures["mfu"] * again,
        model_flops=float(counted_flops(setting).computed * layout.global_batch_size),
        bubble_fraction=idle / float(job.iteration_time),
    )


def _sent(rows: Callable[[], list[Row]]) -> list[Traffic]:
    """Return the communication of groups of more than one rank."""
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
    """Return the placement of a job with its layout, as text."""
    return f"{placement(setting)}; {short(layout.words())}"


def layout_of_setting(setting: Setting) -> Layout:
    """Return the layout of a setting, which must have one."""
    assert setting.layout is not None
    return setting.layout


def _caveats(setting: Setting, layout: Layout, selects_nothing: bool) -> list[str]:
    """Return warnings about a layout that is inefficient on its machine."""
    remarks = []
    own = setting.accelerator.compute_capability
    if setting.scenario.attention_kernel is None and own and own < setting.framework.flash_from <= AMPERE:
        remarks.append(
            f"attention keeps its scores on {accelerator_words(setting.accelerator)}: the kernels of "
            f"{setting.software} that keep none need compute capability {setting.framework.flash_from:g}, "
            f"it has {own:g}"
        )
    domain = setting.accelerators_per_domain
    if layout.tensor_parallel > domain:
        remarks.append(
            f"tensor parallelism of {layout.tensor_parallel} leaves {link_words(setting.intra_link)}, "
            f"which joins {domain}"
        )
    if layout.recompute == SELECTIVE and selects_nothing and setting.scenario.recompute_modules is None:
        remarks.append("--recompute selective changes nothing where attention keeps no scores")
    return remarks


def _network_limit(setting: Setting, job: Job) -> str | None:
    """Return the limit of the exchange of replicas over adapters other than their ports, as text, or None."""
    cost, learned = job.groups.gather, fitted().parameters
    if not cost.outer_wire_time:
        return None
    link = setting.inter_link
    if capped(link, setting.node, setting.nics, setting.scenario.network_cap) is not link:
        return with_remedy(limit_words(setting, "machine"), lifted_by(setting, "machine"))
    alone = link.bandwidth.value * float(cost.outer_wire_time) / float(cost.wire_time)
    outer = min(cost.outer_wire_time / learned["between"], cost.kernel_wire_time)
    share = float(cost.outer_wire_time) / float(outer)
    if flow_binds(link, setting.connections):
        return connections_limit(link, setting.connections, alone)
    if alone > (1 + 1e-9) * share * link.bandwidth.value:
        return (
            f"computation at the same time: a collective then gets at most {per_cent(share, 0)} of a port, "
            f"{show(share * link.bandwidth.value, 'B/s')} of {link_words(link)}, and {show(alone, 'B/s')} "
            "alone (perfmodel collective)"
        )
    if link.passes_kernel:
        words = kernel_words(alone, setting.connections, TCP_YEARS)
        return with_remedy(words, lifted_by(setting, "kernel"))
    return None


def _verdict(result: Evaluated, network_limit: Callable[[], str | None]) -> str:
    """Return the verdict: the largest bound, other large terms, and the network limit."""
    (most, head), whole_time = largest_bound(result), result.iteration_time
    others = {
        TERMS[name].label: float(time)
        for name, time in result.terms.items()
        if TERMS[name].kind != "busy" and time / whole_time > 0.02
    }
    largest = sorted(others.items(), key=lambda each: -each[1])[:3]
    named = [f"{label} {per_cent(time / whole_time)} ({show(time, 's')})" for label, time in largest]
    sentences = [head, f"other than computation: {', '.join(named)}"] if named else [head]
    if most == "communication-bound" and (limit := network_limit()) is not None:
        sentences.append(f"what binds is {limit}")
    return "; ".join(sentences)
