"""A layout as text: in short, in full, and its differences from another layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from perfmodel.equations.pipeline_orders import SCHEDULES
from perfmodel.model.options.layout import CHOSEN, CONTEXT_METHODS, FULL, RECOMPUTE, SHARDING, Layout

ABBREVIATIONS = {
    "tensor_parallel": "tp",
    "pipeline_parallel": "pp",
    "virtual_stages": "v",
    "context_parallel": "cp",
    "expert_parallel": "ep",
    "expert_tensor_parallel": "etp",
    "data_parallel": "dp",
}
NAMES = {
    "tensor_parallel": "tensor",
    "pipeline_parallel": "pipeline",
    "virtual_stages": "virtual stages",
    "context_parallel": "context",
    "expert_parallel": "expert",
    "expert_tensor_parallel": "expert tensor",
    "data_parallel": "data",
    "micro_batch_size": "micro-batch",
}
_WORD = re.compile(
    rf"(?:(?P<degree>{'|'.join(ABBREVIATIONS.values())})(?P<size>[1-9]\d{{0,8}})"
    rf"|(?P<sharding>{'|'.join(SHARDING[1:])})(?: in (?P<shard_group>[1-9]\d{{0,8}})s)?"
    rf"|(?P<context_method>{'|'.join(CONTEXT_METHODS)})"
    rf"|recompute (?P<recompute>{'|'.join(RECOMPUTE[1:])})"
    r"|(?P<embedding_slots>slots))(?: |$)"
)
"""Matches one part of a layout as ``short`` writes it."""
_OF_ABBREVIATION = {word: name for name, word in ABBREVIATIONS.items()}
_UNSTATED = {
    **{name: 1 for name in ABBREVIATIONS if name != "data_parallel"},
    "sharding": "none",
    "recompute": "none",
}
"""What ``short`` leaves out."""
_PASSES = re.compile(r"\s*([1-9]\d{0,8})(?: x [1-9]\d*)?\s*")


def short(layout: Mapping[str, int | str]) -> str:
    """Return a layout as short text: degrees above 1, sharding and recomputation.

    >>> short({"tensor_parallel": 8, "data_parallel": 1, "sharding": "zero1", "recompute": "full"})
    'tp8 dp1 zero1 recompute full'
    >>> hybrid = Layout(context_parallel=8, data_parallel=8, sharding=3)
    >>> short(hybrid._replace(shard_group=16, context_method=2).words())
    'cp8 ulysses dp8 zero3 in 16s'
    """
    degrees = [
        f"{word}{layout[name]}"
        for name, word in ABBREVIATIONS.items()
        if layout.get(name, 1) != 1 or word == "dp"
    ]
    method = layout.get("context_method", "ring")
    if method != "ring" and layout.get("context_parallel", 1) != 1:
        degrees.insert(-1, str(method))
    sharding = [f"{layout['sharding']}"] if layout["sharding"] != "none" else []
    replicas = _replicas({"context_parallel": 1, **layout})
    if sharding and layout.get("shard_group", replicas) != replicas:
        sharding.append(f"in {layout['shard_group']}s")
    recompute = [f"recompute {layout['recompute']}"] if layout["recompute"] != "none" else []
    slots = ["slots"] if layout.get("embedding_slots") else []
    return " ".join([*degrees, *sharding, *recompute, *slots])


def options_of_short(text: str) -> dict[str, Any] | None:
    """Return the options of a layout from the text of ``short``, perhaps with micro-batch and passes.

    ``data_parallel`` is among them, which is no option of a scenario: it follows from the others.  None if a
    word is not of that notation.

    >>> stated = options_of_short("tp2 pp3 v3 cp2 ulysses dp10 zero3 in 4s recompute full, 2 x 8")
    >>> [stated[name] for name in ("tensor_parallel", "virtual_stages", "data_parallel", "context_method")]
    [2, 3, 10, 'ulysses']
    >>> [stated[name] for name in ("sharding", "shard_group", "recompute", "micro_batch_size")]
    ['zero3', 4, 'full', 2]
    >>> options_of_short("tp2 pq4")
    """
    words, comma, passes = text.partition(",")
    words, at = " ".join(words.split()), 0
    stated: dict[str, Any] = {}
    while at < len(words):
        part = _WORD.match(words, at)
        if part is None:
            return None
        at, groups = part.end(), {name: value for name, value in part.groupdict().items() if value}
        if "degree" in groups:
            groups = {_OF_ABBREVIATION[groups["degree"]]: groups["size"]}
        if stated.keys() & groups.keys():
            return None
        stated |= groups
    if comma:
        if (split := _PASSES.fullmatch(passes)) is None:
            return None
        stated["micro_batch_size"] = split[1]
    if not stated:
        return None
    stated = {name: int(value) if value.isdecimal() else value for name, value in stated.items()}
    if "embedding_slots" in stated:
        stated["embedding_slots"] = True
    return {**_UNSTATED, **stated}


_DEGREES = {
    "tensor_parallel": "each layer is split over {} GPUs",
    "pipeline_parallel": "{} pipeline stages",
    "virtual_stages": "{} virtual stages of each",
    "context_parallel": "each sequence is split over {} GPUs",
    "expert_parallel": "experts are split over {} GPUs",
    "expert_tensor_parallel": "each expert is split over {} GPUs",
    "data_parallel": "{} data-parallel replicas",
}
_SHARED = ("optimizer", "gradients and optimizer", "weights, gradients and optimizer")
"""What replicas share among them, of zero1, zero2 and zero3."""


def meaning(text: str) -> str:
    """Return what the words of ``short`` mean, as a clause; empty where the text is no layout.

    >>> meaning("tp8 dp1 recompute full")
    'tp8: each layer is split over 8 GPUs; recompute full: activations are computed again'
    >>> meaning("dp2 zero2"), meaning("all-reduce")
    ('dp2: 2 data-parallel replicas; zero2: replicas share gradients and optimizer', '')
    """
    stated = options_of_short(text)
    if stated is None:
        return ""
    words = [
        f"{ABBREVIATIONS[name]}{stated[name]}: {means.format(stated[name])}"
        for name, means in _DEGREES.items()
        if stated.get(name, 1) != 1
    ]
    if level := SHARDING.index(stated["sharding"]):
        words.append(f"{stated['sharding']}: replicas share {_SHARED[level - 1]}")
    if stated["recompute"] != "none":
        words.append(f"recompute {stated['recompute']}: activations are computed again")
    return "; ".join(words)


def of_words(words: Mapping[str, Any]) -> Layout:
    """Return the layout of the dictionary of ``Layout.words``.

    >>> hybrid = Layout(8, 2, 4, data_parallel=8, sharding=3, shard_group=4)
    >>> of_words(hybrid.words()) == hybrid, of_words(Layout().words()) == Layout()
    (True, True)
    """
    layout = Layout(**{name: words[name] for name in Layout._fields if isinstance(words.get(name), int)})
    sharding, recompute = SHARDING.index(words["sharding"]), RECOMPUTE.index(words["recompute"])
    grouped = sharding and words["shard_group"] != layout.replicas
    return layout._replace(
        sharding=sharding,
        recompute=recompute,
        recomputed_layers=float(recompute == FULL),
        schedule=0 if words["schedule"] == "interleaved" else SCHEDULES.index(words["schedule"]),
        end_slots=int(words.get("embedding_slots", False)),
        shard_group=words["shard_group"] if grouped else 0,
        context_method=CONTEXT_METHODS.index(words["context_method"]),
    )


def in_full(layout: Mapping[str, Any]) -> str:
    """Return a layout as full text, from the dictionary of ``Layout.words``.

    >>> in_full(Layout(8, 2, data_parallel=32, sharding=1, accumulation_steps=16).words())
    'tensor 8 x pipeline 2 x data 32, zero1, micro-batch 1 x 16 passes'
    """

    def above_one(*names: str) -> list[str]:
        return [f"{NAMES[name]} {layout[name]}" for name in names if layout[name] > 1]

    degrees = above_one("tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel")
    if layout.get("token_copies", 1) > 1:
        degrees.append(f"{layout['token_copies']} with the same tokens")
    others = above_one("expert_parallel", "expert_tensor_parallel", "virtual_stages")
    parts = [" x ".join(degrees) or "one accelerator", *others]
    parts += [layout["sharding"]] if layout["sharding"] != "none" else []
    if layout["context_parallel"] > 1 and layout["context_method"] != "ring":
        parts.insert(1, f"context by {layout['context_method']}")
    if parts[-1] == layout["sharding"] and layout["shard_group"] not in (1, _replicas(layout)):
        parts[-1] += f" in groups of {layout['shard_group']}"
    parts += [f"recompute {layout['recompute']}"] if layout["recompute"] != "none" else []
    parts += ["embedding and head count as layers"] if layout.get("embedding_slots") else []
    micro, passes = layout["micro_batch_size"], layout["accumulation_steps"]
    return ", ".join([*parts, f"micro-batch {micro} x {passes} pass{'es' * (passes > 1)}"])


def _replicas(layout: Mapping[str, Any]) -> int:
    """Return the replicas of a layout."""
    return int(layout["data_parallel"] * layout["context_parallel"])


def one_word(name: str, value: float) -> str:
    """Return one option of a layout as text.

    >>> one_word("sharding", 2), one_word("tensor_parallel", 4.0)
    ('zero2', 'tensor 4')
    """
    if name == "sharding":
        return SHARDING[int(value)] if value else "no sharding"
    if name == "recompute":
        return f"recompute {RECOMPUTE[int(value)]}"
    return f"{NAMES[name]} {int(value)}"


def changes(layouts: Layout, most: int) -> tuple[str, ...]:
    """Return, as text, the differences of each layout from the first one, the fewest differences first.

    Parameters
    ----------
    layouts : shape (layouts,) each
    most : largest number of texts

    >>> import numpy as np
    >>> some = {name: np.full(3, value) for name, value in Layout()._asdict().items()}
    >>> some |= {"tensor_parallel": np.array([8, 4, 8]), "pipeline_parallel": np.array([1, 2, 1])}
    >>> changes(Layout(**some | {"sharding": np.array([1, 1, 2])}), 3)
    ('zero2', 'tensor 4 + pipeline 2')
    """
    columns = {name: getattr(layouts, name) for name in CHOSEN}
    changed = [
        [one_word(name, column[row]) for name, column in columns.items() if column[row] != column[0]]
        for row in range(1, len(layouts.sharding))
    ]
    return tuple(" + ".join(words) for words in sorted(changed, key=len)[:most])


def difference(layout: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Return what another layout has in place of what one has, from dictionaries of ``Layout.words``.

    >>> one = Layout(8, 2, data_parallel=32, sharding=1, accumulation_steps=16)
    >>> difference(one.words(), one._replace(virtual_stages=4, micro_batch_size=2).words())
    'virtual stages 4 + micro-batch 2'
    """
    one, two = of_words(layout), of_words(other)
    names = [name for name in CHOSEN if getattr(one, name) != getattr(two, name)]
    return " + ".join(one_word(name, getattr(two, name)) for name in names) or short(other)
