"""From a setting with a layout to the job whose step and memory are computed."""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.core.tracing.tracing import remembered
from perfmodel.model.collectives.place import USUAL_YEAR
from perfmodel.model.collectives.racks import Racks
from perfmodel.model.fitted.calibration import before_fit
from perfmodel.model.options.adapters import targets_of
from perfmodel.model.options.kept import options_of_software
from perfmodel.model.options.layout import Layout
from perfmodel.model.setting.link_caveats import capped, lone_bandwidth
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.routing import expert_load
from perfmodel.model.setting.unsupported import PRECISIONS
from perfmodel.model.step.ports import sockets_of
from perfmodel.model.transformers.architecture import Dimensions, dimensions_of
from perfmodel.model.transformers.job import Case, job_of
from perfmodel.model.transformers.machine import Fabric, chip_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.software import Options, software_of
from perfmodel.model.transformers.step import Step, step_of
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.workload import Workload

known_dimensions = remembered(maxsize=256)(dimensions_of)


def fabric_of_setting(setting: Setting) -> Fabric:
    """Return the links and adapters between the ranks of a setting."""
    scenario = setting.scenario
    domain = setting.accelerators_per_domain
    per_node = domain if setting.is_slice else setting.accelerators_per_node
    over_pcie = setting.intra_link.kind == "pcie" or setting.intra_link.joins is not None
    return Fabric(
        setting.accelerator,
        setting.intra_link,
        capped(setting.inter_link, setting.node, setting.nics, scenario.network_cap),
        ops.number(per_node),
        ops.number(domain),
        ops.number(setting.nics),
        setting.host_link,
        USUAL_YEAR,
        None
        if scenario.rack_nodes is None
        else Racks(scenario.rack_nodes, scenario.oversubscription, scenario.placement),
        setting.connections,
        lone_bandwidth(setting.inter_link, setting.node, setting.nics, scenario.network_cap),
        sockets_of(setting.node, setting.socket_link, before_fit()) if over_pcie else None,
        min(setting.node.switch_accelerators or 1, ops.plain(setting.accelerators_per_node)),
    )


def with_layout(setting: Setting, layout: Layout) -> Setting:
    """Return a setting with another layout, or with several layouts as arrays."""
    return setting._replace(
        layout=layout,
        local_batch_size=layout.micro_batch_size,
        accumulation_steps=layout.accumulation_steps,
        global_batch_size=layout.global_batch_size,
    )


def case_of_setting(setting: Setting, layout: Layout | None = None) -> Case:
    """Return dimensions, layout, chip, software and fabric of a setting, by default with its own layout."""
    model, length = network_of(setting.workload)
    of = setting.layout if layout is None else layout
    if of is None or setting.layout is None:
        raise refusal("layout.copies", "workload", workload=setting.workload.id)
    dimensions: Dimensions = known_dimensions(model, length)
    chip = chip_of(setting.accelerator, PRECISIONS[setting.precision])
    scenario = setting.scenario
    if scenario.routing_nodes is not None:
        dimensions = dimensions._replace(routing_nodes=ops.number(scenario.routing_nodes))
    options = _options(setting, model)
    software = software_of(setting.framework, chip, dimensions, of, options)
    return Case(dimensions, of, chip, software, fabric_of_setting(setting), length)


def _options(setting: Setting, model: Architecture) -> Options:
    """Return the options of a setting's software."""
    scenario = setting.scenario
    return Options(
        PRECISIONS[setting.precision],
        adapter_rank=scenario.lora or 0,
        targets=targets_of(scenario.lora_targets, setting.framework.lora_targets, model),
        frozen_weights=scenario.frozen_weights or "16-bit",
        drops_tokens=scenario.capacity_factor is not None,
        expert_load=expert_load(scenario),
        overlaps=scenario.overlap != "none",
        **options_of_software(scenario, setting.optimizer),
    )


def network_of(workload: Workload) -> tuple[Architecture, int]:
    """Return the architecture of a transformer and its sequence length [tokens]."""
    if workload.architecture is None or workload.tokens is None:
        raise refusal("layout.no_transformer", "workload", workload=workload.id)
    return workload.architecture, workload.tokens


def step_of_setting(setting: Setting, layout: Layout | None = None) -> Step:
    """Return the terms of a setting's step [s], by default with its own layout."""
    return step_of(job_of(case_of_setting(setting, layout)), fitted().parameters)


def one_replica(layout: Layout, strong: bool) -> Layout:
    """Return the layout of a single replica with its share of the batch, or if ``strong`` with all of it."""
    steps = layout.accumulation_steps * (layout.data_parallel if strong else 1)
    parts = ops.minimum(layout.expert_tensor_parallel, layout.tensor_parallel)
    return layout._replace(
        data_parallel=1,
        expert_parallel=1,
        expert_tensor_parallel=parts,
        accumulation_steps=steps,
        shard_group=0,
        token_copies=1,
    )
