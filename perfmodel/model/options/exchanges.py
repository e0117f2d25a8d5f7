"""How the replicas of a layout share states in groups, and how its context-parallel ranks exchange keys."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.model.options.layout import CONTEXT_METHODS, NESTED, ULYSSES, Layout

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfmodel.hardware.software import Release
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.workloads.architecture import Architecture

EXCHANGES = ("shard_group", "context_method", "context_inner")
"""Options of a layout's exchanges."""
NO_SHARDS = "--shard-group changes nothing without --sharding zero1, zero2 or zero3"
NO_CONTEXT = "--context-method changes nothing without --context-parallel of 2 or more"
NO_INNER = "--context-inner changes nothing without --context-method nested"


def shard_groups(size: Any, sharding: Any, replicas: Any, experts: Any) -> tuple[Any, Any]:
    """Return the ranks that share one copy of states, 0 for all, and whether such groups are possible.

    Parameters
    ----------
    size : as given, 0 for all; number or array, like the others
    sharding : stage of ZeRO; without one nothing is sharded
    replicas, experts : replicas of the weights, and the expert-parallel degree
    """
    grouped = (size > 0) & (sharding > 0)
    size = ops.where(grouped, size, 0)
    some = ops.maximum(size, 1)
    able = (replicas % some == 0) & ((some % experts == 0) | (experts % some == 0))
    return size, able | (grouped == 0)


def context_ranks(
    method: Any, inner: Any, context: Any, heads: Any, kv_heads: Any, tensor: Any
) -> tuple[Any, Any]:
    """Return the context-parallel ranks that exchange heads, and whether they can; numbers or arrays.

    Parameters
    ----------
    method : index into ``CONTEXT_METHODS``
    inner : ranks that exchange heads in a nested exchange as given, 0 for the most that key heads allow
    context, tensor : degrees of context and tensor parallelism
    heads, kv_heads : query and key heads of the network
    """
    nested = (method == NESTED) & (context > 1)
    usual = _each(usual_inner, context, kv_heads // tensor)
    within = ops.where(nested, ops.where(inner > 0, inner, usual), 1)
    ranks = ops.where(method == ULYSSES, context, within)
    able = (heads // tensor) % ranks == 0
    return ranks, able & ((nested == 0) | ((context % ranks == 0) & (ranks > 1) & (ranks < context)))


@lru_cache(maxsize=256)
def usual_inner(context: int, key_heads: int) -> int:
    """Return the most ranks below all of a nested exchange that need no repeated key heads.

    >>> usual_inner(8, 2), usual_inner(8, 8), usual_inner(4, 1)
    (2, 4, 2)
    """
    proper = [each for each in range(2, context) if context % each == 0]
    enough = [each for each in proper if max(key_heads, 1) % each == 0]
    return max(enough, default=min(proper, default=1))


def _each(function: Any, *values: Any) -> Any:
    """Return a function of whole numbers, element by element for arrays."""
    if all(isinstance(each, int) for each in values):
        return function(*values)
    import numpy as np

    return np.vectorize(function, otypes=[np.int64])(*(np.asarray(each, np.int64) for each in values))


def exchanging(
    layout: Layout,
    scenario: Scenario,
    model: Architecture,
    software: str,
    facts: Release,
    remark: Callable[[str], None],
) -> Layout:
    """Return a layout with the exchanges of a scenario, or those of its software.

    Parameters
    ----------
    layout : without them
    scenario, model : options and network of the job
    software, facts : name of its software, and what is known of it
    remark : called with each warning

    Raises
    ------
    InputError : a group that does not divide the replicas; more ranks than heads
    """
    size, sharding, experts = scenario.shard_group or 0, int(layout.sharding), int(layout.expert_parallel)
    group, able = shard_groups(size, sharding, int(layout.replicas), experts)
    if not able and layout.replicas % size:
        raise refusal("layout.shard_group", "shard_group", group=size, replicas=int(layout.replicas))
    if not able:
        raise refusal("layout.shard_experts", "shard_group", "expert_parallel", group=size, experts=experts)
    if size and not sharding:
        remark(NO_SHARDS)
    method = CONTEXT_METHODS.index(scenario.context_method or facts.context_method)
    context, tensor = int(layout.context_parallel), int(layout.tensor_parallel)
    key_heads = max(model.kv_heads // tensor, 1)
    inner, able = context_ranks(
        method, scenario.context_inner or 0, context, model.heads, model.kv_heads, tensor
    )
    if not able and context > 1:
        raise _no_exchange(method, int(inner), context, model.heads // tensor)
    if context == 1 and scenario.context_method:
        remark(NO_CONTEXT)
    if scenario.context_inner and (method != NESTED or context == 1):
        remark(NO_INNER)
    word = CONTEXT_METHODS[method]
    if context > 1 and word not in facts.context_methods:
        known = ", ".join(facts.context_methods)
        remark(f"{software} is not known to exchange keys by --context-method {word}; known: {known}")
    if key_heads % inner and not facts.repeats_key_heads:
        remark(
            f"{key_heads} key-value heads of a rank are repeated for {int(inner)} ranks that exchange heads; "
            f"{software} is not known to do that"
        )
    return layout._replace(shard_group=int(group), context_method=method, context_inner=int(inner))


def _no_exchange(method: int, inner: int, context: int, heads: int) -> Exception:
    """Return the refusal of context-parallel ranks that cannot exchange heads so."""
    if method == NESTED and (context % inner or not 1 < inner < context):
        return refusal("layout.context_inner", "context_inner", inner=inner, context=context)
    most = max(each for each in range(1, heads + 1) if heads % each == 0 and each <= math.gcd(heads, inner))
    name = CONTEXT_METHODS[method]
    return refusal("layout.ulysses", "context_method", method=name, inner=inner, heads=heads, most=most)


def takes_of(layout: Layout) -> dict[str, Any]:
    """Return the exchanges of one layout that matter to it, as options by name; None for the others."""
    words = layout.words()
    several, nested = layout.context_parallel > 1, layout.context_method == NESTED
    return {
        "shard_group": int(layout.shard_group) or None,
        "context_method": words["context_method"] if several else None,
        "context_inner": words["context_inner"] if several and nested else None,
    }
