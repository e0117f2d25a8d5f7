"""The numbers of a transformer's architecture that its step is computed from, each with name and source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfmodel.core.records.record import Record
from perfmodel.workloads.workload import Workload

Change = Callable[[Any, str, str], Any]
"""Maps a number, its name and its source to the number that replaces it."""
OF_SCENARIO = "the scenario"
OF_ARCHITECTURE = "the network's architecture"
WIDTHS = (
    "hidden",
    "layers",
    "heads",
    "kv_heads",
    "head_size",
    "feed_forward",
    "vocabulary",
    "experts",
    "top_k",
    "shared_experts",
    "routing_nodes",
    "dense_layers",
    "expert_feed_forward",
    "query_rank",
    "kv_rank",
    "rope_size",
    "value_size",
    "encoder_layers",
    "target_fraction",
    "window",
    "predicted_fraction",
    "index_heads",
    "index_size",
    "index_top_k",
    "mtp_layers",
)
"""Fields of an ``Architecture`` that a step of a transformer is computed from."""
DOCUMENTS = ("document_length", "document_spread")
"""Fields of an ``Architecture`` that a scenario states."""
SCAN_WIDTHS = ("heads", "head_size", "state", "groups", "convolution", "rank", "chunk")
"""Fields of its ``scan``."""


def widths_of(workload: Workload, change: Change) -> dict[str, Any]:
    """Return the changed architecture and sequence length of a transformer, by field of ``Workload``."""
    model = workload.architecture
    assert model is not None
    widths = {
        field: change(value, f"{workload.id}.{field}", OF_ARCHITECTURE)
        for field in (*WIDTHS, *(["positions"] if model.patch_elements else []))
        if (value := getattr(model, field))
    }
    widths |= {
        field: change(value, field, OF_SCENARIO) for field in DOCUMENTS if (value := getattr(model, field))
    }
    if (tower := model.tower) is not None:
        counts = {name: n for name, n in tower._asdict().items() if n and not isinstance(n, (bool, str))}
        of_tower = {
            name: change(n, f"{workload.id}.images.{name}", OF_ARCHITECTURE) for name, n in counts.items()
        }
        widths["tower"] = with_parts(tower, of_tower)
    if model.scan is not None:
        scan = {name: value for name in SCAN_WIDTHS if (value := getattr(model.scan, name))}
        prefix = f"{workload.id}.scan."
        scan = {name: change(value, f"{prefix}{name}", OF_ARCHITECTURE) for name, value in scan.items()}
        widths["scan"] = with_parts(model.scan, scan)
    length = workload.sequence_length and change(workload.sequence_length, "sequence_length", OF_SCENARIO)
    return {"architecture": with_parts(model, widths), "sequence_length": length}


def with_parts(thing: Any, parts: dict[str, Any]) -> Any:
    """Return a record, tuple or table with replaced parts; the same object if no part differs, for caches.

    A table among the parts is replaced only if its own parts differ.
    """
    known = thing if isinstance(thing, dict) else {name: getattr(thing, name) for name in parts}
    parts = {
        name: with_parts(known[name], part) if isinstance(part, dict) else part
        for name, part in parts.items()
    }
    if all(part is known[name] for name, part in parts.items()):
        return thing
    if isinstance(thing, dict):
        return parts
    return thing.model_copy(update=parts) if isinstance(thing, Record) else thing._replace(**parts)
