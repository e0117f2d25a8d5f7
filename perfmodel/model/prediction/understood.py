"""The scenario of a prediction, with every default filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.model.options.adapters import targets_of
from perfmodel.model.options.exchanges import takes_of
from perfmodel.model.setting.embedding_tables import has_tables
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.torus import runs_torus, usual_torus

if TYPE_CHECKING:
    from perfmodel.model.options.layout import Layout


def understood(setting: Setting) -> dict[str, object]:
    """Return the scenario with every default filled in and its implications; ``Scenario`` accepts it."""
    filled = setting.scenario.__dict__ | {
        "accelerator": setting.accelerator.id,
        "node": setting.node.id,
        "nodes": setting.nodes,
        "accelerators_per_node": setting.accelerators_per_node,
        "intra_link": setting.intra_link.id,
        "inter_link": setting.inter_link.id,
        "nics": setting.nics,
        "connections": setting.scenario.connections or setting.connections,
        "servers": setting.servers or None,
        "server_shards": setting.server_shards if setting.servers else None,
        "server_node": setting.server_node.id if setting.servers else None,
        "overlap": setting.overlap,
        "precision": setting.precision,
        "local_batch_size": setting.local_batch_size,
        "global_batch_size": setting.global_batch_size,
        "accumulation_steps": setting.accumulation_steps,
        "sequence_length": setting.workload.sequence_length,
        "image_tokens": setting.workload.image_tokens,
        "optimizer": setting.optimizer,
        "framework": setting.software,
        "loader_workers": (setting.loader_workers and setting.scenario.loader_workers)
        or setting.loader_workers
        or setting.scenario.loader_workers,
        "storage": setting.storage or setting.scenario.storage,
        "scaling": setting.scaling,
    }
    if setting.repeat is not None:
        filled["anchor"] = setting.repeat.anchor
    if setting.workload.tables is not None:
        filled["embedding"] = "sharded"
    elif has_tables(setting.workload):
        filled["embedding"] = "replicated"
    if runs_torus(setting.scenario, setting.strategy) and setting.world_size > 1:
        usual = usual_torus(setting.accelerators_per_domain, setting.domains)
        filled["torus_dimensions"] = setting.scenario.torus_dimensions or str(usual)
    if setting.updates is not None:
        filled |= setting.updates.options(setting.world_size)
    if setting.is_slice:
        filled["inter_link"] = None
    if setting.layout is not None:
        filled |= {"overlap": None, **_layout_options(setting.layout), **_adapters(setting)}
    if setting.profile is not None and setting.profile.measures_input:
        # the measured wait applies, unless the scenario states other workers
        filled |= {name: getattr(setting.scenario, name) for name in ("loader_workers", "storage")}
    return filled


def _adapters(setting: Setting) -> dict[str, object]:
    """Return the products that have adapters, and the storage of frozen weights; {} if all are trained."""
    scenario, model = setting.scenario, setting.workload.architecture
    if scenario.lora is None or model is None:
        return {}
    adapted = targets_of(scenario.lora_targets, setting.framework.lora_targets, model)
    return {"lora_targets": ",".join(adapted), "frozen_weights": scenario.frozen_weights or "16-bit"}


def _layout_options(layout: Layout) -> dict[str, object]:
    """Return the options of a layout with their values."""
    words = layout.words()
    names = ("expert_tensor_parallel", "sharding", "recompute", "micro_batch_size")
    filled, piped = {name: words[name] for name in names}, layout.pipeline_parallel > 1
    return filled | {
        "schedule": words["schedule"] if piped else None,
        "embedding_slots": bool(layout.end_slots) if piped else None,
        **takes_of(layout),
    }
