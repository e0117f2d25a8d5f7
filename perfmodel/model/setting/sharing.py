"""Which model answers for a job, and the software and layout of a transformer.

``model_of`` alone decides, by the network, its layout, and the exchange of gradients.  Options that the model
does not support are refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.hardware.formats import OPERANDS
from perfmodel.hardware.releases import release, software_id
from perfmodel.hardware.software import (
    DEFAULT_FOR_LAYOUTS,
    DEFAULT_SOFTWARE,
    LATEST_RELEASE,
    default_for_layouts,
    parts,
    usual_year,
    with_year,
)
from perfmodel.model.options.exchanges import NO_CONTEXT, NO_SHARDS, exchanging
from perfmodel.model.options.layout import DEGREES, NEUTRAL, RECOMPUTE, SHARDING, without_stages
from perfmodel.model.setting.low_precision import of_low_precision
from perfmodel.model.setting.routing import routing_remarks, usual_expert_tensor
from perfmodel.model.setting.unsupported import refuse_unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.hardware.accelerator import Accelerator
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.options.layout import Layout, Sharding
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.workloads.workload import Workload

Model = Literal["data-parallel", "transformer"]
"""Data parallelism of whole networks, as tables of layers; or a transformer under a layout."""
SHARDS = {"none": False, "zero2": True, "zero3": True}
"""Requested sharding -> whether gradients or parameters are sharded; other requests leave it open."""
SUMS = ("all-reduce", "fsdp")
"""Strategies that a layout allows."""
OF_LAYOUTS = "sharding", "recompute", "lora_targets", "frozen_weights"
"""Options of layouts whose value may leave a job plain data parallelism."""


class LayoutSetting(NamedTuple):
    """Software, layout and usual precision of a transformer's job."""

    software: str
    """``NAME@YEAR``"""
    layout: Layout
    precision: str
    """The usual precision on the job's accelerator."""
    adapted: str
    """Products with adapters, separated by commas; empty if all weights are trained."""


def model_of(scenario: Scenario, workload: Workload) -> Model:
    """Return which model answers for a job, by its network, its layout and its exchange of gradients.

    The transformer model answers for networks that predict the next token, and for every transformer that a
    job partitions, recomputes or adapts (``sharing_option``).  The data-parallel model answers for all
    others, and for transformers with parameter servers, asynchronous updates, compression, or one process;
    what one accelerator computes of a transformer is the same in both.

    Raises
    ------
    InputError : a layout of a network that has none
    """
    if scenario.answered_by == "data-parallel":
        return "data-parallel"
    given = sharing_option(scenario)
    if has_layouts(workload):
        is_shared = given or scenario.answered_by == "transformer"
        is_shared = is_shared or (predicts_tokens(workload) and not _exchange_of_copies(scenario))
        return "transformer" if is_shared else "data-parallel"
    if given := given or _neutral_option(scenario):
        raise _no_transformer(*_option_and_value(given), workload)
    return "data-parallel"


def _exchange_of_copies(scenario: Scenario) -> str:
    """Return the option whose exchange of gradients no layout supports, with its value; empty if none."""
    if scenario.strategy not in SUMS:
        return f"strategy {scenario.strategy}"
    return "" if scenario.compression is None else f"compression {scenario.compression}"


def sharing_option(scenario: Scenario) -> str:
    """Return an option, with its value, that makes a job other than plain data parallelism; empty if none.

    A degree above 1, FSDP and ZeRO partition the network; recomputation and adapters change the computation.
    A sharding or recomputation of ``none`` does not count, nor do chunks without stages.
    """
    if scenario.strategy == "fsdp":
        return "strategy fsdp"
    given = (name for name, neutral in NEUTRAL.items() if getattr(scenario, name) not in neutral)
    return next(given, "").replace("_", "-")


def _option_and_value(option: str) -> tuple[str, str]:
    """Split ``option value`` into the option, and a blank with the value."""
    name, blank, value = option.partition(" ")
    return name, blank + value


def _neutral_option(scenario: Scenario) -> str:
    """Return an option of layouts that is stated with a value without effect; empty if none."""
    if scenario.virtual_stages > 1:
        return "virtual-stages"
    return next((name for name in OF_LAYOUTS if getattr(scenario, name) is not None), "")


def stack_of(
    scenario: Scenario, workload: Workload, accelerator: Accelerator, catalogue: Catalogue
) -> str | None:
    """Return the name of a job's software if the transformer model answers; else None.

    Raises
    ------
    InputError : a layout of a network that has none; software, a strategy or an option that the model does
        not support
    """
    if model_of(scenario, workload) == "data-parallel":
        _refuse_layout_only(scenario, workload, catalogue)
        return None
    if scenario.strategy not in SUMS:
        option, value = _option_and_value(sharing_option(scenario))
        raise refusal("layout.sums", option, value=value, known=" or ".join(SUMS), strategy=scenario.strategy)
    if scenario.framework is None:
        if scenario.strategy == "fsdp":
            return "fsdp"
        return default_for_layouts(scenario.frozen_weights, accelerator.is_tpu)
    shards = scenario.strategy == "fsdp" or SHARDS.get(scenario.sharding or "")
    return transformer_software(scenario.framework, workload, shards, catalogue)


def layout_setting(
    scenario: Scenario,
    workload: Workload,
    accelerator: Accelerator,
    catalogue: Catalogue,
    remark: Callable[[str], None],
) -> LayoutSetting | None:
    """Return software, layout and precision of a transformer's job; None for a data-parallel job.

    Parameters
    ----------
    scenario, workload, accelerator, catalogue : of the job
    remark : called with each warning of a possible but inefficient layout

    Raises
    ------
    InputError : an impossible layout, or options that do not go with it
    """
    name = stack_of(scenario, workload, accelerator, catalogue)
    model, length = workload.architecture, workload.tokens
    of_stages = scenario.virtual_stages, scenario.schedule, scenario.embedding_slots
    if name is None or model is None or length is None:
        idle = {NO_SHARDS: scenario.shard_group, NO_CONTEXT: scenario.context_method}
        without = [words for words, given in idle.items() if given is not None]
        for words in (*without_stages(*of_stages), *without, *routing_remarks(scenario, model)):
            remark(words)
        return None
    from perfmodel.model.options.adapters import check_tuning, targets_of
    from perfmodel.model.options.kept import OFFLOADED, check_kept, recompute_of
    from perfmodel.model.options.layout import caveats, check, end_slots, layout_of, scheduled

    id, year = parts(software_id(name, catalogue))
    software = with_year(id, year or _usual_release(workload, accelerator))
    facts = release(software, catalogue)
    refuse_unsupported(scenario, software)
    all_or_nothing = "zero3" in facts.shardings and not facts.shards_states_alone
    all_or_nothing |= OFFLOADED[scenario.offload].weights
    usual: Sharding = "zero3" if all_or_nothing else "zero1" if facts.shards_optimizer else "none"
    sharding = scenario.sharding or usual
    if scenario.strategy == "fsdp":
        if scenario.sharding not in (None, "zero3"):
            raise refusal("layout.fsdp_sharding", sharding=scenario.sharding)
        sharding = "zero3"
    slots = end_slots(scenario.embedding_slots, facts)
    recompute: Any = recompute_of(scenario, facts)
    degrees: dict[str, Any] = {name: getattr(scenario, name) for name in DEGREES}
    usual_parts = usual_expert_tensor(facts.whole_experts, model, scenario.tensor_parallel)
    parts_of_expert = scenario.expert_tensor_parallel
    batch: dict[str, Any] = {
        "micro_batch_size": _micro_batch(scenario),
        "global_batch_size": scenario.global_batch_size,
        "accumulation_steps": scenario.accumulation_steps,
    }
    try:
        layout = layout_of(
            scenario.world_size,
            **degrees,
            **batch,
            expert_tensor_parallel=parts_of_expert or usual_parts,
            sharding=sharding,
            recompute=recompute,
            copies_tokens=facts.copies_tokens,
        )
        layout = scheduled(layout, scenario.schedule)
        layout = layout._replace(end_slots=slots * (layout.pipeline_parallel > 1))
        check(layout, model, length)
    except InputError as error:
        from perfmodel.model.options.nearest_layout import Degrees, advice, nearest

        requested = Degrees(**degrees, **batch, expert_tensor_parallel=parts_of_expert)
        places = model.layers + 2 * slots
        near = nearest(requested, scenario.world_size, model, length, facts, places)
        possible = advice(requested, near)
        advised = scenario.model_copy(update=near._asdict())
        if model_of(advised, workload) == "data-parallel":  # with all degrees 1
            possible += " --sharding zero1"
        raise error.under(after=f"; the nearest possible: {possible}") from None
    layout = exchanging(layout, scenario, model, software, facts, remark)
    check_tuning(scenario, model, facts, accelerator, remark)
    check_kept(scenario, layout, model, accelerator, (software, facts), remark)
    known = facts.shardings if layout.pipeline_parallel == 1 else facts.pipelined_shardings
    if sharding not in known and layout.replicas > 1:
        remark(f"{software} is not known to share {sharding} there; known: {', '.join(known)}")
    stored = scenario.frozen_weights
    if stored not in (None, "16-bit") and layout.tensor_parallel > 1 and not facts.splits_quantized:
        remark(f"{software} is not known to share {stored} weights by --tensor-parallel")
    if layout.pipeline_parallel > 1 and layout.schedule_name not in facts.schedules:
        schedules = ", ".join(facts.schedules) or "no pipeline"
        remark(f"{software} is not known to run {layout.schedule_name}; known: {schedules}")
    of_one = without_stages(*of_stages) if layout.pipeline_parallel == 1 else []
    narrow = of_low_precision(scenario.precision, software, facts)
    for words in (*of_one, *narrow, *caveats(layout, model), *routing_remarks(scenario, model, layout)):
        remark(words)
    adapted = () if scenario.lora is None else targets_of(scenario.lora_targets, facts.lora_targets, model)
    precision = "bf16" if "bf16" in accelerator.peak_flops else "fp16"
    return LayoutSetting(software, layout, precision, ",".join(adapted))


def batch_of(
    scenario: Scenario, sharing: LayoutSetting, take: Callable[[str, Any, Any], Any]
) -> tuple[int, int, str]:
    """Return the samples of a replica's micro-batch, those of a step, and ``weak`` or ``strong``.

    Parameters
    ----------
    scenario, sharing : of the job
    take : called with an option, its stated value and its default; records a default that is taken
    """
    layout = sharing.layout
    take("sharding", scenario.sharding, SHARDING[layout.sharding])
    take("recompute", scenario.recompute, RECOMPUTE[layout.recompute])
    if layout.tensor_parallel > 1 and (layout.expert_parallel > 1 or layout.expert_tensor_parallel > 1):
        take("expert-tensor-parallel", scenario.expert_tensor_parallel, layout.expert_tensor_parallel)
    if sharing.adapted:
        take("lora-targets", scenario.lora_targets, sharing.adapted)
    if layout.pipeline_parallel > 1:
        take("schedule", scenario.schedule, layout.schedule_name)
        if layout.end_slots:
            take("embedding-slots", scenario.embedding_slots, True)
    micro: int = take("micro-batch-size", _micro_batch(scenario), layout.micro_batch_size)
    return micro, layout.global_batch_size, "weak" if scenario.global_batch_size is None else "strong"


def usual_precision(accelerator: Accelerator) -> str:
    """Return the usual precision of data-parallel training on an accelerator."""
    peaks = accelerator.peak_flops
    return "amp" if "fp16" in peaks else "bf16" if "bf16" in peaks and "fp32" not in peaks else "fp32"


def has_layouts(workload: Workload) -> bool:
    """Return whether a network is a transformer that can have a layout."""
    return workload.architecture is not None and workload.tokens is not None


def predicts_tokens(workload: Workload) -> bool:
    """Return whether a network is a transformer that predicts the next token."""
    model = workload.architecture
    return model is not None and model.predicts_next_token and workload.tokens is not None


@lru_cache(maxsize=256)
def named_software(text: str, workload: Workload, shards: bool | None, catalogue: Catalogue) -> str:
    """Return the software that a name means for one job, as ``ID@YEAR``, or ``ID`` without a year.

    Parameters
    ----------
    text, workload : ``NAME`` or ``NAME@YEAR``, and the network of the job
    shards : whether gradients or parameters are sharded (ZeRO 2, 3); None: as the software does
    catalogue : to look the software up in

    Raises
    ------
    InputError : unknown software, or software whose replacements refer to each other

    Examples
    --------
    >>> from perfmodel.hardware.catalogue.store import Catalogue
    >>> from perfmodel.workloads import workload
    >>> job = "pytorch-channels-last@2023", workload("gpt2")
    >>> [named_software(*job, shards, Catalogue.built_in()) for shards in (True, False)]
    ['fsdp@2023', 'pytorch@2023']
    """
    name, year = parts(text)
    seen: list[str] = []
    while name not in seen:
        seen.append(name)
        known = catalogue.software(name)
        other = workload.sample not in ("image", "volume") and known.without_images_by
        other = other or (shards and known.sharded_by) or (shards is False and known.unsharded_by)
        if not other:
            return with_year(known.id, year)
        name = other
    raise refusal("software.shards", text=text, known=" is ".join([*seen, name]))


def software_of_copies(
    scenario: Scenario, workload: Workload, accelerator: Accelerator, catalogue: Catalogue
) -> str:
    """Return the software of a data-parallel job, ``NAME@YEAR``.

    The year is that of the latest release for networks that predict tokens; of others it is that of the
    software the accelerator is usually trained with.
    """
    name, year = parts(named_software(scenario.framework or DEFAULT_SOFTWARE, workload, False, catalogue))
    return with_year(name, year or _usual_release(workload, accelerator))


def _usual_release(workload: Workload, accelerator: Accelerator) -> int:
    """Return the year of the software of a job that states no year."""
    return LATEST_RELEASE if predicts_tokens(workload) else usual_year(accelerator.year)


def transformer_software(text: str, workload: Workload, shards: bool | None, catalogue: Catalogue) -> str:
    """Return ``named_software`` for a job that the transformer model answers.

    Raises
    ------
    InputError : as for ``named_software``, or software that does not train transformers
    """
    name = named_software(text, workload, shards, catalogue)
    if release(name, catalogue).trains == "others":
        raise refusal(
            "software.no_transformers",
            text=text,
            workload=workload.id,
            default_for_layouts=DEFAULT_FOR_LAYOUTS,
            default=DEFAULT_SOFTWARE,
        )
    return name


def _refuse_layout_only(scenario: Scenario, workload: Workload, catalogue: Catalogue) -> None:
    """Refuse options of the transformer model in a job that the data-parallel model answers."""
    name = scenario.framework
    if scenario.micro_batch_size is not None:
        if not has_layouts(workload):
            after = "; the batch of a GPU is --local-batch-size"
            raise _no_transformer("micro-batch-size", "", workload).under(after=after)
        raise refusal("layout.micro_batch", layouts=Words(_layouts(scenario, workload)))
    software = named_software(name or DEFAULT_SOFTWARE, workload, False, catalogue)
    if name is not None and release(software, catalogue).trains == "transformers":
        option, value = "framework", f" {name}"
        if not has_layouts(workload):
            raise refusal(
                "software.only_transformers",
                option,
                value=value,
                workload=workload.id,
                default=DEFAULT_SOFTWARE,
            )
    elif scenario.precision in OPERANDS and not has_layouts(workload):
        option, value = "precision", f" {scenario.precision}"
    elif scenario.optimizer == "adam-in-backward":
        option, value = "optimizer", f" {scenario.optimizer}"
    else:
        return
    if not has_layouts(workload):
        raise _no_transformer(option, value, workload)
    raise refusal("layout.only", option, value=value, layouts=Words(_layouts(scenario, workload)))


def _layouts(scenario: Scenario, workload: Workload) -> str:
    """Return a hint which options would give a job a layout."""
    if (exchange := _exchange_of_copies(scenario)) and predicts_tokens(workload):
        return f"which has no --{exchange}: leave one of them out"
    return f"e.g. --sharding zero1; of {workload.id} without one that is not known"


def _no_transformer(option: str, value: str, workload: Workload) -> InputError:
    """Return the error for an option of layouts with a network that has none."""
    return refusal("layout.no_architecture", option, value=value, workload=workload.id)


def _micro_batch(scenario: Scenario) -> int | None:
    """Return the stated micro-batch of a replica, under either name; None if not stated."""
    micro, local = scenario.micro_batch_size, scenario.local_batch_size
    if micro is not None and local is not None and micro != local:
        raise refusal("batch.micro_and_local")
    return micro if micro is not None else local
