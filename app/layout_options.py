"""Form of a transformer's layout options, with the possible values of each and the layouts that fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd, isqrt
from typing import Any

import streamlit as st

from app import session_hardware
from app.memory_chart import GIB, of_memory
from app.options import Option, options, scenario
from app.plain import plain
from app.state import choose, leave_open, widget
from perfmodel.core.errors import InputError
from perfmodel.core.units import plural, show
from perfmodel.model.fitted.calibration import constants_of
from perfmodel.model.options.layout import DEGREES, Layout
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.prediction.memory import memory_needed
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.routing import usual_expert_tensor
from perfmodel.model.transformers.nearest_fit import nearest_fits
from perfmodel.workloads import workload

HEADING = "Layout"
OF_BATCH = ("micro-batch-size", "accumulation-steps", "global-batch-size")
OPTIONS = (
    *(name.replace("_", "-") for name in DEGREES),
    "expert-tensor-parallel",
    "sharding",
    "recompute",
    *OF_BATCH,
)
"""Layout options in the order of the form."""
NEVER_ALONE = OPTIONS[: -len(OF_BATCH[1:])]
"""Layout options that do not apply to networks that are trained by data parallelism alone."""
NONE_FITS = "No layout alone makes this batch fit on so many GPUs"
TRIED_THERE = "host memory, adapters, other batches and more GPUs"
MOST_LISTED = 10
"""Most numbers in a list."""


def arranged(
    groups: Mapping[str, Sequence[Option]], picked: Mapping[str, Any]
) -> dict[str, Sequence[Option]]:
    """Return a page's options by heading, with layout options moved under a heading of their own.

    For a network that is not a transformer they are left out, except those of the batch and those already
    set, so that the user can clear them.
    """
    of_layout = {option.name: option for members in groups.values() for option in members}
    mine = [of_layout[name] for name in OPTIONS if name in of_layout]
    result: dict[str, Sequence[Option]] = {}
    able = is_able(picked)
    for heading, members in groups.items():
        left_out = OPTIONS if able else [name for name in NEVER_ALONE if name not in picked]
        if heading:  # options that are not folded stay where they are
            if able and HEADING not in result:
                result[HEADING] = mine
            members = [option for option in members if option.name not in left_out]
        result[heading] = members
    return result


def is_able(picked: Mapping[str, Any]) -> bool:
    """Return whether the chosen network is a transformer that can have a layout."""
    try:
        network = workload(picked.get("workload", "resnet50"))
    except InputError:
        return False
    return network.architecture is not None and network.tokens is not None


def draw_options(members: Sequence[Option], picked: Callable[[], Mapping[str, Any]]) -> None:
    """Draw layout options, each above its possible values, and at the top whether the layout fits.

    Parameters
    ----------
    members : the options to draw
    picked : returns the chosen options; called after the widgets are drawn
    """
    top, places = st.container(), {}
    for option in members:
        widget(option)
        places[option.name] = st.empty()
    now = picked()
    notes = possible(now)
    for name, place in places.items():
        if name in notes:
            place.caption(plain(notes[name]))
    with top:
        _what_fits(now)


def possible(picked: Mapping[str, Any]) -> dict[str, str]:
    """Return text on the possible values of each layout option, given the others; {} for an invalid job.

    Parameters
    ----------
    picked : chosen options, by name
    """
    world = picked.get("gpus") if isinstance(picked.get("gpus"), int) else None  # text on the page Scale
    without = (*OPTIONS, *UNSHARED, *(() if world else ("gpus",)))
    setting = _setting({name: value for name, value in picked.items() if name not in without})
    if setting is None or setting.workload.architecture is None or setting.workload.tokens is None:
        return {}
    model, length = setting.workload.architecture, setting.workload.tokens
    tensor, stages, chunks, context, expert = (int(picked.get(name, 1)) for name in OPTIONS[: len(DEGREES)])
    joined = setting.accelerators_per_domain if world else setting.node.accelerators
    result = {
        "tensor-parallel": _listed(
            [each for each in _divisors(gcd(model.heads, world or model.heads)) if each <= joined],
            f"divide {model.heads} heads, on the {joined} {plural('GPU', joined)} of a fast link",
        ),
        "pipeline-parallel": _listed(
            [
                each
                for each in _divisors(_rest(world, tensor * context) or model.layers)
                if each <= model.layers
            ],
            f"divide what is left of the GPUs; {model.layers} layers divide evenly over "
            + _numbers(_evenly(model.layers, _rest(world, tensor * context))),
        ),
        "context-parallel": _listed(
            _divisors(gcd(length, _rest(world, tensor * stages) or length)),
            f"divide {length:,} tokens" + (" and what is left of the GPUs" if world else ""),
        ),
    }
    result["virtual-stages"] = (
        _listed(_divisors(model.layers // stages), "divide a stage's layers; passes a multiple of the stages")
        if 1 < stages <= model.layers
        else "only with stages"
    )
    of_experts = "expert-parallel", "expert-tensor-parallel"
    result |= dict.fromkeys(of_experts, "the network has no experts")
    if model.experts:
        ranks = _rest(world, stages)
        usual = usual_expert_tensor(setting.framework.whole_experts, model, tensor)
        parts = int(picked.get("expert-tensor-parallel") or usual)
        wholes = model.experts, model.expert_feed_forward
        words = f"divide {model.experts} experts", f"divide the {wholes[1]:,} features of an expert"
        for name, whole, other, why in zip(of_experts, wholes, (parts, expert), words, strict=True):
            able = _divisors(gcd(whole, _rest(ranks, other) or whole))
            result[name] = _listed(able, f"{why}, and the GPUs of a stage")
    if setting.layout is not None:
        known = setting.framework.shardings if stages == 1 else setting.framework.pipelined_shardings
        result["sharding"] = f"{', '.join(known)}: known of {setting.software}" + (
            " with stages" * (stages > 1)
        )
    replicas = _rest(world, tensor * stages * context)
    if replicas:
        batch, micro = picked.get("global-batch-size"), int(picked.get("micro-batch-size", 1))
        result["global-batch-size"] = f"a multiple of {_passes_of(replicas, micro, stages, chunks)}"
        if isinstance(batch, int) and batch % replicas == 0:
            each = batch // replicas
            result["micro-batch-size"] = _listed(
                _divisors(each), f"divide a replica's {each:,} samples of {batch:,}"
            )
            if each % micro == 0:
                passes = f"{each // micro:,} x {micro:,} {plural('sample', micro)}"
                result["accumulation-steps"] = f"{passes} by {replicas:,} {plural('replica', replicas)}"
    return result


UNSHARED = ("local-batch-size", "anchor")
"""Options that may be invalid for the job without its layout."""


def _passes_of(replicas: int, micro: int, stages: int, chunks: int) -> str:
    parts = f"{replicas:,} {plural('replica', replicas)}"
    parts += f" x {micro}" if micro > 1 else ""
    return parts + (f" x {stages} stages" if chunks > 1 and stages > 1 else "")


def _setting(picked: Mapping[str, Any]) -> Setting | None:
    try:
        job = scenario(picked, session_hardware.own_files())
        return settled(job, session_hardware.catalogue(), constants_of(None))[0]
    except InputError:  # the page says why, in place of its answer
        return None


def _rest(world: int | None, taken: int) -> int | None:
    """Return the GPUs left for a degree, ``world / taken``; None if unknown or not a whole number."""
    return world // taken if world and world % taken == 0 else None


def _evenly(layers: int, rest: int | None) -> list[int]:
    return _divisors(gcd(layers, rest or layers))


def _listed(numbers: Sequence[int], why: str) -> str:
    return f"{_numbers(numbers)}: {why}"


def _numbers(numbers: Sequence[int]) -> str:
    """Return numbers as text; of many only the first ones and the last.

    >>> _numbers([1, 2, 4]), _numbers(range(1, 14))
    ('1, 2, 4', '1, 2, 3, 4, 5, 6, 7, 8, 9 ... 13')
    """
    few = [f"{each:,}" for each in numbers[: MOST_LISTED - 1]]
    if len(numbers) == MOST_LISTED:
        few.append(f"{numbers[-1]:,}")
    return ", ".join(few) + (f" ... {numbers[-1]:,}" if len(numbers) > MOST_LISTED else "")


def _divisors(number: int) -> list[int]:
    small = [each for each in range(1, isqrt(number) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})


def _what_fits(picked: Mapping[str, Any]) -> None:
    """Draw whether the chosen layout fits, and a button that takes the nearest layout that does."""
    setting = _setting(picked) if isinstance(picked.get("gpus"), int) else None  # text on the page Scale
    if setting is None or setting.layout is None:
        return
    memory = memory_needed(setting, constants_of(None))
    bar = of_memory(memory)
    if bar.fits:
        st.markdown(f"**{bar.words}**, with micro-batches of up to {memory.largest_local_batch_size:,}")
        return
    st.markdown(f"**{bar.words}**")
    nearest = nearest_fits(setting)
    if not nearest:
        st.caption(f"{NONE_FITS}.")
        return
    first = nearest[0]
    needs = f"{first.bytes / GIB:.1f} GiB and {show(first.iteration_time, 's')} a step"
    st.caption(f"The nearest layout that fits takes {needs}:")
    st.button(f"Take {first.words}", key="take-layout", on_click=take, args=(first.layout,))


def remedy(picked: Mapping[str, Any]) -> str:
    """Return advice for a layout that does not fit: the nearest that does; "" for a job without a layout."""
    setting = _setting(picked)
    if setting is None or setting.layout is None:
        return ""
    nearest = nearest_fits(setting)
    if not nearest:
        return f"{NONE_FITS[0].lower()}{NONE_FITS[1:]}; the page “Will it fit” tries more: {TRIED_THERE}"
    needs = f"{nearest[0].bytes / GIB:.1f} GiB and {show(nearest[0].iteration_time, 's')} a step"
    return f"take {nearest[0].words}, which needs {needs} (in the sidebar, “{HEADING}”)"


def take(layout: Layout) -> None:
    """Set the options of a layout for the next run of the page."""
    leave_open(options()[name] for name in (*OPTIONS, "local-batch-size"))
    words = layout.words() | {"global_batch_size": int(layout.global_batch_size)}
    degrees = {name: words[name] for name in DEGREES if words[name] != 1}
    if words["expert_parallel"] > 1 or words["expert_tensor_parallel"] > 1:
        degrees["expert_tensor_parallel"] = words["expert_tensor_parallel"]
    others = ("sharding", "recompute", "micro_batch_size", "global_batch_size")
    chosen = degrees | {name: words[name] for name in others}
    choose({options()[name.replace("_", "-")]: value for name, value in chosen.items()})
