"""The layout of a claimed transformer job: as its quote states, else the fastest that fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.model.options.laid_out import laid_out
from perfmodel.model.options.layout import DEGREES, RECOMPUTE, SHARDING
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.setting.sharing import sharing_option
from perfmodel.model.transformers.evaluate import network_of
from perfmodel.model.transformers.search import search
from perfmodel.model.transformers.usual_batch import usual_batch

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.model.setting.resolve import Setting

_WORDS = {"sharding": SHARDING, "recompute": RECOMPUTE}
_CHOSEN = (*DEGREES, "expert_tensor_parallel", *_WORDS)
_BATCH = ("micro_batch_size", "local_batch_size", "accumulation_steps", "global_batch_size")


class CompletedJob(NamedTuple):
    """A job with a complete layout."""

    scenario: Scenario
    defaults: tuple[str, ...] = ()
    """Options that were chosen because the quote leaves them open."""
    note: str = ""
    """How the batch differs from that of ``predict``, where neither is told one."""


def completed_job(scenario: Scenario, catalogue: Catalogue) -> CompletedJob:
    """Return a job as its quote states it, with the fastest layout that fits for what is not stated.

    A data-parallel job is returned unchanged, and so is one that fits with no layout.

    Raises
    ------
    InputError : an impossible scenario, or a batch that no layout divides
    """
    setting = resolve(_plain(scenario), catalogue)
    if setting.layout is None:
        return CompletedJob(scenario)
    stated = _stated(scenario)
    batch, is_assumed = _batch_of(scenario, setting)
    fitting = search(setting, batch)
    if not fitting.candidates:
        why = "; ".join(fitting.rejected)
        raise refusal(
            "quote.no_layout", workload=setting.workload.id, world_size=setting.world_size, why=Words(why)
        )
    agrees = np.ones(len(fitting.layouts.sharding), dtype=bool)
    for name, value in stated.items():
        agrees &= getattr(fitting.layouts, name) == value
    if not agrees.any():
        return CompletedJob(scenario)
    words = fitting.layout(int(np.argmax(agrees))).words()
    chosen: dict[str, Any] = {name: words[name] for name in (*_CHOSEN, "micro_batch_size")}
    if not network_of(setting.workload)[0].experts:
        chosen["expert_tensor_parallel"] = None
    defaults = [
        f"--{name.replace('_', '-')} {words[name]}"
        for name in _CHOSEN
        if name not in stated and words[name] not in (1, "none")
    ]
    if defaults:
        defaults.append("the fastest layout that fits")
    complete = changed(scenario, **(dict.fromkeys(_BATCH) | chosen | {"global_batch_size": batch}))
    if not is_assumed:
        return CompletedJob(complete, tuple(defaults))
    tokens = f"{batch * network_of(setting.workload)[1] / 1e6:.3g} M tokens a step"
    defaults.append(f"--global-batch-size {batch} ({tokens})")
    taken = f"as no batch is stated, a step has {batch} {setting.workload.sample}s, {tokens}, as is usual"
    default = _default_batch(scenario, catalogue)
    note = f"{taken}; predict takes {default} by default" if default not in (None, batch) else ""
    return CompletedJob(complete, tuple(defaults), note)


def _default_batch(scenario: Scenario, catalogue: Catalogue) -> int | None:
    """Return the samples of a step that ``predict`` takes for a job; None where it refuses the job."""
    try:
        return int(resolve(scenario, catalogue).global_batch_size)
    except InputError:
        return None


def changed(scenario: Scenario, **options: Any) -> Scenario:
    """Return a scenario with options replaced; None removes an option."""
    table = scenario.model_dump(exclude_unset=True) | options
    return type(scenario).model_validate({key: value for key, value in table.items() if value is not None})


def _plain(scenario: Scenario) -> Scenario:
    """Return a job without layout and batch options, so that every batch is possible."""
    plain = changed(scenario, **dict.fromkeys((*_CHOSEN, *_BATCH)))
    return laid_out(plain) if sharing_option(scenario) else plain


def _stated(scenario: Scenario) -> dict[str, int]:
    """Return the layout options that the quote states, as numbers of ``Layout``."""
    result = {}
    for name in (*_CHOSEN, "micro_batch_size", "accumulation_steps"):
        value = getattr(scenario, name)
        if name in scenario.model_fields_set and value is not None:
            result[name] = _WORDS[name].index(value) if name in _WORDS else value
    if scenario.local_batch_size is not None:
        result["micro_batch_size"] = scenario.local_batch_size
    if scenario.strategy == "fsdp":
        result["sharding"] = SHARDING.index("zero3")
    return result


def _batch_of(scenario: Scenario, setting: Setting) -> tuple[int, bool]:
    """Return the samples of a step, and whether they are the default because the quote states none."""
    if scenario.global_batch_size is not None:
        return scenario.global_batch_size, False
    micro, steps = scenario.micro_batch_size or scenario.local_batch_size, scenario.accumulation_steps
    if micro is not None or steps is not None:
        replica = scenario.tensor_parallel * scenario.pipeline_parallel * scenario.context_parallel
        return (micro or 1) * (steps or 1) * max(1, setting.world_size // replica), False
    return usual_batch(setting.world_size, network_of(setting.workload)[1]), True
