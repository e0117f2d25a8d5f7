"""Which jobs share a transformer out, what trains them, and how: from a scenario to a stack and a layout."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.errors import InputError
from perfmodel.specs.framework import DEFAULT_FRAMEWORK, FRAMEWORKS, framework_id
from perfmodel.specs.layout import DEGREES, RECOMPUTE, SHARDING

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.specs.accelerator import Accelerator
    from perfmodel.specs.layout import Layout, Sharding
    from perfmodel.specs.scenario import Scenario
    from perfmodel.specs.stack import Stack
    from perfmodel.specs.workload import Workload

HALF = ("fp16", "bf16")
PRECISIONS = {"amp": "fp16", "fp16": "fp16", "bf16": "bf16", "fp8": "fp8"}
"""In which a stack trains, by what a scenario calls them."""
FIXED = {
    "overlap": (None, "a stack decides itself what it hides"),
    "algorithm": ("auto", "a stack leaves that to its library"),
    "profile": (
        None,
        "it holds kernels of whole layers, and those of parts of layers run at other rates; "
        "a measured step does, e.g. --anchor iteration_time=6.2s@8",
    ),
}
"""Options that a shared job leaves alone: the only value, and why."""
_degrees = attrgetter(*DEGREES)
_ALONE = (1,) * len(DEGREES)


class Shared(NamedTuple):
    """How a job shares a transformer out."""

    software: str
    """``STACK@YEAR``"""
    stack: Stack
    layout: Layout
    precision: str
    """In which it is usually trained there."""


def stack_of(scenario: Scenario, workload: Workload, accelerator: Accelerator) -> str | None:
    """Return the stack that trains a job, as it is named; None where copies of the network are trained.

    That is the stack a scenario names.  Where it names none, it is the usual one of networks that predict
    the next token, and of all transformers once a layout is asked for.

    Raises
    ------
    InputError : a layout asked for of a network, a framework or a strategy that knows none
    """
    name = scenario.framework
    asked = _asked(scenario)
    if name is not None and not _is_stack(name, asked):
        if scenario.strategy == "fsdp" and name.partition("@")[0] == DEFAULT_FRAMEWORK:
            name = "fsdp" + "".join(name.partition("@")[1:])
        elif asked:
            raise InputError(
                f"--{asked}: {name} trains copies of the whole network; "
                "name a stack that shares it out, e.g. --framework megatron-core"
            )
        else:
            return None
    if workload.architecture is None or workload.tokens is None:
        if name is not None or asked:
            what = f"--{asked}" if asked else f"--framework {name}"
            raise InputError(
                f"{what}: {workload.id} is no transformer whose architecture and tokens are known, "
                "e.g. llama-3-8b"
            )
        return None
    if name is None and not asked and not _usual(scenario, workload, accelerator):
        return None
    if scenario.strategy not in ("all-reduce", "fsdp"):
        raise InputError(
            f"--strategy {scenario.strategy}: transformers that are shared out sum gradients by all-reduce"
        )
    if name is not None:
        return name
    if scenario.strategy == "fsdp":
        return "fsdp"
    return "maxtext" if accelerator.is_tpu else _default()


def shared(
    scenario: Scenario, workload: Workload, accelerator: Accelerator, remark: Callable[[str], None]
) -> Shared | None:
    """Return how a job shares a transformer out; None where it trains copies of the network.

    Parameters
    ----------
    scenario, workload, accelerator : of the job
    remark : takes what is possible and poor

    Raises
    ------
    InputError : a layout that is none, or options that do not go with it
    """
    name = stack_of(scenario, workload, accelerator)
    model, length = workload.architecture, workload.tokens
    if name is None or model is None or length is None:
        return None
    from perfmodel.specs.layout import caveats, check, check_adapters, layout_of
    from perfmodel.specs.stack import stack_named

    software, facts = stack_named(name)
    _refuse(scenario, software)
    all_or_nothing = "zero3" in facts.shardings and not facts.shards_states_alone
    usual: Sharding = "zero3" if all_or_nothing else "zero1" if facts.shards_optimizer else "none"
    sharding = scenario.sharding or usual
    if scenario.strategy == "fsdp":
        if scenario.sharding not in (None, "zero3"):
            raise InputError(f"--strategy fsdp is --sharding zero3, not {scenario.sharding}")
        sharding = "zero3"
    degrees: dict[str, Any] = {name: getattr(scenario, name) for name in DEGREES}
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
            sharding=sharding,
            recompute=scenario.recompute or "none",
        )
        check(layout, model, length)
    except InputError as error:
        from perfmodel.specs.nearest_layout import Asked, advice

        possible = advice(Asked(**degrees, **batch), scenario.world_size, model, length)
        raise InputError(f"{error}; the nearest possible: {possible}") from None
    check_adapters(scenario.lora, model)
    known = facts.shardings if layout.pipeline_parallel == 1 else facts.pipelined_shardings
    if sharding not in known and layout.replicas > 1:
        remark(f"{software} is not known to share {sharding} there; known: {', '.join(known)}")
    for words in caveats(layout, model):
        remark(words)
    return Shared(software, facts, layout, "bf16" if "bf16" in accelerator.peak_flops else "fp16")


def batch_of(
    scenario: Scenario, layout: Layout, take: Callable[[str, Any, Any], Any]
) -> tuple[int, int, str]:
    """Return the samples of a replica's pass, those of a step, and the kind of scaling they say.

    Parameters
    ----------
    scenario, layout : of the job
    take : takes an option, what was said of it, and its default
    """
    take("sharding", scenario.sharding, SHARDING[layout.sharding])
    take("recompute", scenario.recompute, RECOMPUTE[layout.recompute])
    micro: int = take("micro-batch-size", _micro_batch(scenario), layout.micro_batch_size)
    return micro, layout.global_batch_size, "weak" if scenario.global_batch_size is None else "strong"


def framework_of_copies(workload: Workload, framework: str | None, what: str) -> str | None:
    """Return the framework under which copies of a network are trained, where nothing else is known yet.

    Parameters
    ----------
    workload, framework : of the job; None where nobody names software
    what : who knows copies alone, e.g. ``plan``

    Raises
    ------
    InputError : a stack is named
    """
    framework = None if framework is None else framework_id(framework)
    if workload.architecture is None:
        return framework
    if framework is not None and is_stack(framework):
        raise InputError(
            f"--framework {framework}: {what} knows copies of the whole network alone; "
            "see perfmodel layouts, and perfmodel predict with --tensor-parallel and its like"
        )
    return framework or DEFAULT_FRAMEWORK


def _asked(scenario: Scenario) -> str:
    """Return an option that only a shared job has; empty where none is asked for."""
    if _degrees(scenario) != _ALONE:
        return next(name.replace("_", "-") for name in DEGREES if getattr(scenario, name) != 1)
    if scenario.strategy == "fsdp":
        return "strategy fsdp"
    if scenario.precision == "fp8":
        return "precision fp8"
    if scenario.lora is not None:
        return "lora"
    for name, given in (("sharding", scenario.sharding), ("recompute", scenario.recompute)):
        if given not in (None, "none"):
            return name
    return "micro-batch-size" if scenario.micro_batch_size is not None else ""


def _usual(scenario: Scenario, workload: Workload, accelerator: Accelerator) -> bool:
    """Whether a job for which nobody names software is one for a stack."""
    if not predicts_tokens(workload) or scenario.strategy != "all-reduce":
        return False
    if any(getattr(scenario, name) != value for name, (value, _) in FIXED.items()):
        return False
    in_half = scenario.precision is None or scenario.precision in PRECISIONS
    usual = scenario.optimizer in (None, "adam")
    return in_half and usual and any(each in accelerator.peak_flops for each in HALF)


def predicts_tokens(workload: Workload) -> bool:
    """Return whether a network is a transformer that predicts the next token."""
    model = workload.architecture
    return model is not None and model.predicts_next_token


def is_stack(name: str) -> bool:
    """Return whether a framework, as people spell it, shares transformers out where nobody asks for a layout.

    Raises
    ------
    InputError : an unknown framework
    """
    return _is_stack(framework_id(name), "")


def _is_stack(name: str, asked: str) -> bool:
    """Whether a framework is a stack; one that is both copies the network unless a layout is asked for."""
    name = name.partition("@")[0]
    if name not in FRAMEWORKS:
        return True
    if not asked:
        return False
    from perfmodel.specs.stack import STACKS

    return name in STACKS


def _default() -> str:
    from perfmodel.specs.stack import DEFAULT_STACK

    return DEFAULT_STACK


def _refuse(scenario: Scenario, software: str) -> None:
    if scenario.precision is not None and scenario.precision not in PRECISIONS:
        raise InputError(
            f"--precision {scenario.precision}: {software} trains in {', '.join(PRECISIONS)}; "
            "copies of the network are trained in it by --framework pytorch"
        )
    for name, (value, why) in FIXED.items():
        if getattr(scenario, name) != value:
            option = name.replace("_", "-")
            raise InputError(f"--{option} {getattr(scenario, name)} does not go with {software}: {why}")
    if scenario.optimizer not in (None, "adam"):
        raise InputError(f"--optimizer {scenario.optimizer}: {software} is known to train with adam alone")


def _micro_batch(scenario: Scenario) -> int | None:
    micro, local = scenario.micro_batch_size, scenario.local_batch_size
    if micro is not None and local is not None and micro != local:
        raise InputError("--micro-batch-size and --local-batch-size: give one, they are the same here")
    return micro if micro is not None else local
