"""Convert a measured run to a scenario, or state the reason why it cannot be predicted."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.software import optimizer_of, software_of, variants
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.hardware.catalogue.kinds import Kind
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.provenance import SourcedSpec
from perfmodel.model.options.laid_out import DataParallel
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.link_caveats import GENERIC_NODE
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.workloads import understood
from perfmodel.workloads import workload as workload_named
from perfmodel.workloads.workload import Workload

OPTION_FIELDS = (
    *("accelerator", "accelerators_per_node", "world_size", "intra_link", "inter_link", "nics"),
    *("precision", "local_batch_size", "accumulation_steps", "sequence_length", "input"),
)
"""Fields of a run that are options of a scenario, unchanged."""
CONNECTIONS = {"pollux": 1}
"""Source -> TCP connections, for sources that ran in Kubernetes containers: there NCCL sees no NIC to open
more for."""


class Refused(Exception):
    """Raised when a measured row cannot be predicted."""

    def __init__(self, kind: str, detail: str = "") -> None:
        """Set the message: the type of reason, by which rows are counted, and the details of this row."""
        super().__init__(f"{kind}: {detail}" if detail else kind)


def measured_time(run: Run) -> float | None:
    """Return the measured iteration time [s], from the rate if only that is stated; None without both."""
    if run.iteration_time is not None:
        return run.iteration_time
    if run.samples_per_second is None or run.local_batch_size is None or not run.world_size:
        return None
    return run.local_batch_size * run.world_size * run.accumulation_steps / run.samples_per_second


def scenario_of_run(
    run: Run, catalogue: Catalogue, anchor_time: float | None = None, anchor_size: int = 1
) -> Scenario:
    """Return the scenario of a run.

    Parameters
    ----------
    run : the measured configuration; its outcome is not used
    catalogue : hardware
    anchor_time : measured iteration time of the anchor [s], None for none
    anchor_size : number of accelerators of the anchor: one, or those of a machine

    Raises
    ------
    Refused : a name is unknown, or the run leaves open an option that decides the time
    """
    anchor = None if anchor_time is None else f"iteration_time={anchor_time!r}s@{anchor_size}"
    if run.options:
        return with_options(Scenario.model_validate_json(run.options), anchor=anchor)
    for column in ("accelerator", "workload", "world_size"):
        if not getattr(run, column):
            raise Refused(f"no {column.replace('_', ' ')}")
    run = run._replace(
        accelerator=named("accelerators", run.accelerator, catalogue),
        node=_id("nodes", run.node, catalogue) or "",
        intra_link=run.intra_link and named("links", run.intra_link, catalogue),
        inter_link=run.inter_link and named("links", run.inter_link, catalogue),
    )
    network = _check(run)
    chosen: dict[str, Any] = {
        **{name: getattr(run, name) or None for name in OPTION_FIELDS},
        "workload": network_of(run),
        "framework": software_of(run, network.family),
        "optimizer": optimizer_of(run),
        "node": _node(run, catalogue),
        "connections": CONNECTIONS.get(run.source),
        "strategy": "all-reduce" if run.strategy == "single" else run.strategy,
        "servers": _servers(run),
        "overlap": _overlap(run),
        "anchor": anchor,
    }
    kind = DataParallel if predicts_tokens(network) else Scenario
    return kind.model_construct(**{key: value for key, value in chosen.items() if value is not None})


def with_options(scenario: Scenario, **options: object) -> Scenario:
    """Return a scenario with options replaced; an option that is None is left open."""
    given = {**scenario.model_dump(exclude_unset=True), **options}
    return Scenario.model_construct(**{key: value for key, value in given.items() if value is not None})


def network_of(run: Run) -> str:
    """Return the name of the network that a run trained: its source's variant of it, if there is one."""
    return variants().get((run.source, run.workload), run.workload)


def _check(run: Run) -> Workload:
    """Return the network of a run.

    Raises
    ------
    Refused : the network is unknown, or the run lacks sequence length, batch size or precision
    """
    network = _workload(network_of(run), run.sequence_length)
    if network is None:
        raise Refused("unknown workload", run.workload)
    if network.sequence_length is not None and run.sequence_length is None:
        raise Refused("no sequence length", run.workload)
    if run.local_batch_size is None:
        raise Refused("no batch size")
    if not run.precision:
        raise Refused("no precision")
    return network


def named(kind: Kind, name: str, catalogue: Catalogue) -> str:
    """Return the id of the spec that a name means.

    Raises
    ------
    Refused : the name is unknown, or means several specs
    """
    id = _id(kind, name, catalogue)
    if id is None:
        raise Refused(f"unknown {kind.removesuffix('s')}", name)
    return id


@lru_cache(maxsize=1024)
def _id(kind: Kind, name: str, catalogue: Catalogue) -> str | None:
    """Return the id of the spec that a name means, None if it is unknown or means several."""
    look_up: dict[Kind, Callable[[str], SourcedSpec]] = {
        "accelerators": catalogue.accelerator,
        "nodes": catalogue.node,
        "links": catalogue.link,
    }
    try:
        id = look_up[kind](name).id
    except InputError:
        return None
    return None if catalogue.others(kind, name) else id


@lru_cache(maxsize=1024)
def _workload(name: str, sequence_length: int | None) -> Workload | None:
    """Return the network of that name in any spelling, None if it is unknown or names a family."""
    try:
        is_named = _letters(understood(name).id) == _letters(name)
        return workload_named(name, sequence_length) if is_named else None
    except InputError:
        return None


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def _node(run: Run, catalogue: Catalogue) -> str | None:
    """Return the id of a run's machine, None for the usual one of its accelerator.

    If the accelerator has no usual machine, or one too small for the run, it is a generic workstation.
    """
    if run.node:
        return run.node
    usual = catalogue.accelerator(run.accelerator).usual_node
    if usual is None or catalogue.node(usual).accelerators < run.accelerators_per_node:
        return GENERIC_NODE
    return None


def _servers(run: Run) -> int | None:
    """Return the number of parameter servers, by default the number of nodes; None for other strategies."""
    return (run.servers or run.nodes or None) if run.strategy == "parameter-server" else None


def _overlap(run: Run) -> str | None:
    """Return how communication overlaps computation; None for the strategy's default."""
    if run.overlap == "unknown" or run.strategy in ("single", "data-parallel-single-process"):
        return None
    return run.overlap
