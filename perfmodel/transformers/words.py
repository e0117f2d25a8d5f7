"""A layout in short, as people write it."""

from __future__ import annotations

from collections.abc import Mapping

SHORT = {
    "tensor_parallel": "tp",
    "pipeline_parallel": "pp",
    "virtual_stages": "v",
    "context_parallel": "cp",
    "expert_parallel": "ep",
    "data_parallel": "dp",
}


def short(layout: Mapping[str, int | str]) -> str:
    """Return degrees above 1, sharding and recomputation of a layout by its words.

    >>> short({"tensor_parallel": 8, "data_parallel": 1, "sharding": "zero1", "recompute": "full"})
    'tp8 dp1 zero1 recompute full'
    """
    degrees = [
        f"{word}{layout[name]}" for name, word in SHORT.items() if layout.get(name, 1) != 1 or word == "dp"
    ]
    sharding = [f"{layout['sharding']}"] if layout["sharding"] != "none" else []
    recompute = [f"recompute {layout['recompute']}"] if layout["recompute"] != "none" else []
    return " ".join([*degrees, *sharding, *recompute])
