"""From a scenario to a setting: fill in and record defaults, look up every name, check conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from perfmodel.core.choices import WITHIN_A_NODE
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Note, default
from perfmodel.core.updates import Updates, network_of, updates_of
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import FORMATS, Format, OptimizerStates, states_of
from perfmodel.hardware.link import Link
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.hardware.node import Node, with_host_memory
from perfmodel.hardware.placement import adapters_used, domains, is_slice, nodes_filled
from perfmodel.hardware.releases import release
from perfmodel.hardware.software import OF_YEAR, Release, learned_year, parts
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.input.data import stated_decode_rate, with_scenario_data
from perfmodel.model.input.loading import feed, loader_workers, storage_of
from perfmodel.model.options.compression import Scheme, compression_of
from perfmodel.model.options.overlap import usual_overlap
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting import link_caveats
from perfmodel.model.setting.accelerator_caveats import in_another_machine, of_accelerator
from perfmodel.model.setting.anchor import Repeat, with_measured_runs
from perfmodel.model.setting.documents import with_documents
from perfmodel.model.setting.embedding_tables import with_embedding
from perfmodel.model.setting.low_precision import of_low_precision
from perfmodel.model.setting.named import by_id
from perfmodel.model.setting.named_network import named_network
from perfmodel.model.setting.rings import check_rings
from perfmodel.model.setting.sharing import batch_of, layout_setting, software_of_copies, usual_precision
from perfmodel.model.setting.torus import take_torus
from perfmodel.model.setting.transport import link_over
from perfmodel.workloads.joined import with_joined_norms
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from perfmodel.model.input.feed import Feed
    from perfmodel.model.options.layout import Layout
    from perfmodel.model.setting.profile import Profile

_T = TypeVar("_T")

DEFAULT_ACCELERATOR = "v100-sxm2-16gb"
DEFAULT_INTER_LINK = "ethernet-25g-tcp"


class Setting(NamedTuple):
    """A scenario with every default filled in, and the specs that it names.

    Counts typed ``Any`` are whole numbers, or in a sweep arrays of them.
    """

    scenario: Scenario
    profile: Profile | None
    """The user's measured profile, which replaces numbers of the model."""
    workload: Workload
    accelerator: Accelerator
    node: Node
    intra_link: Link
    inter_link: Link
    host_link: Link
    socket_link: Link | None
    nics: int
    connections: int
    """TCP connections between two machines; a provider may limit the rate of each."""
    world_size: Any
    nodes: Any
    accelerators_per_node: Any
    """Accelerators in the fullest node."""
    precision: str
    format: Format
    peak_flops: float
    peak_format: str
    """The number format whose peak serves the precision."""
    optimizer: str
    states: OptimizerStates
    software: str
    """``NAME@YEAR``"""
    framework: Release
    """Facts about the software."""
    software_year: int
    """Year of the software, limited to those that the data-parallel model was fitted to."""
    strategy: str
    overlap: str
    servers: Any
    server_shards: str
    """Distribution of gradients over the servers: a ``ServerShards``."""
    server_node: Node
    """Machine of a parameter server; without servers, the node."""
    server_link: Link
    """Link of the server's adapters."""
    local_batch_size: Any
    global_batch_size: Any
    accumulation_steps: Any
    scaling: str
    """``weak`` or ``strong``."""
    loader_workers: Any
    storage: str
    decode_rate: float | None
    """Samples/s that one loader worker decodes; None for the calibrated rate."""
    feed: Feed | None
    """Storage, cache, decoder and copies of real samples; None for synthetic ones."""
    defaults: tuple[Note, ...]
    """Each option the scenario left open, with the value it got."""
    warnings: tuple[str, ...]
    layout: Layout | None = None  # of a transformer; None for data-parallel jobs
    measured: tuple[Setting, ...] = ()  # runs that anchors were measured on, of a transformer with a layout
    repeat: Repeat | None = None
    measured_alone: float | None = None  # time of one accelerator with the same batch [s], by own runs
    time_without_own_runs: float | None = None  # predicted [s]; None: there are no own runs
    measured_loss: float = 0.0  # time of own runs beyond that predicted from fewer accelerators [s]
    compression: Scheme | None = None
    """Compression scheme of gradients."""
    updates: Updates | None = None
    """Update strategy; None for one synchronous update from all gradients."""

    @property
    def software_name(self) -> str:
        """Its name without the year."""
        return parts(self.software)[0]

    @property
    def local_aggregation(self) -> bool:
        """Whether a node sums its gradients before it sends them to a server; asynchronous workers cannot."""
        return self.scenario.local_aggregation and self.updates is None

    @property
    def domains(self) -> Any:
        """Number of groups that exchange over adapters: nodes, or without servers NVLink domains of nodes."""
        if self.strategy == "parameter-server":
            return self.nodes
        return domains(self.nodes, self.node, self.intra_link, self.scenario.inter_link)

    @property
    def is_slice(self) -> bool:
        """Whether all accelerators lie on one torus whose links join hosts, as in a TPU slice."""
        return is_slice(self.node, self.intra_link, self.scenario.inter_link)

    @property
    def accelerators_per_domain(self) -> Any:
        """Accelerators in the fullest of the ``domains``, over which nodes are spread evenly."""
        groups = self.domains
        if groups is self.nodes:
            return self.accelerators_per_node
        return -(-self.nodes * self.accelerators_per_node // groups)

    @property
    def nodes_per_domain(self) -> Any:
        """Nodes in the smallest of the ``domains``, whose adapters carry all its outgoing traffic."""
        return self.nodes // self.domains


class _Defaults(list[Note]):
    """Notes of the defaults taken for options left open."""

    def take(self, option: str, given: _T | None, value: _T) -> _T:
        """Return a stated value, or note and return the default."""
        if given is not None:
            return given
        self.append(default(option, value))
        return value


def resolve(scenario: Scenario, catalogue: Catalogue) -> Setting:
    """Return the setting of a scenario.

    Raises
    ------
    InputError : an unknown name, a batch that does not divide, a precision the accelerator lacks
    """
    taken, warnings = _Defaults(), list[str]()
    _note_scenario_defaults(scenario, taken)
    scenario, meant = by_id(scenario, catalogue)
    for one in meant:
        taken.append(default(one.option, one.id))
        warnings.append(str(one))
    named = named_network(scenario, lambda option, value: taken.append(default(option, value)))
    workload = with_documents(with_scenario_data(named, scenario, warnings), scenario, warnings.append)
    warnings += workload.notes
    accelerator, node = _hardware(scenario, catalogue, taken, warnings)
    node = with_host_memory(node, scenario.host_memory)
    nodes, per_node = nodes_filled(scenario.world_size, scenario.accelerators_per_node, node, warnings)
    usual_link = node.intra_link or accelerator.peer_link or accelerator.host_link
    intra = catalogue.link(scenario.intra_link or usual_link)
    sharing = layout_setting(scenario, workload, accelerator, catalogue, warnings.append)
    workload = with_embedding(workload, scenario, taken, warnings)
    strategy = network_of(scenario.strategy)
    groups = domains(nodes, node, intra, scenario.inter_link)
    take_torus(scenario, strategy, node, intra, taken.take)
    if strategy == "all-reduce":
        check_rings(scenario.algorithm, scenario.rack_nodes, scenario.placement, groups, nodes)
    updates = updates_of(
        scenario.strategy, scenario.k, scenario.local_steps, scenario.backups, scenario.world_size
    )
    over_adapters = strategy == "parameter-server" or groups > 1
    if over_adapters:
        link_caveats.require_network(node, scenario.inter_link, None if scenario.node else accelerator)
        if scenario.inter_link is None:
            taken.append(default("inter-link", node.inter_link))
    usual = sharing.precision if sharing else usual_precision(accelerator)
    precision = taken.take("precision", scenario.precision, usual)
    peak, peak_format = accelerator.training_peak(precision)
    local_batch, global_batch, scaling = (
        _batch(scenario, workload, taken) if sharing is None else batch_of(scenario, sharing, taken.take)
    )
    servers = 0
    link_caveats.check_racks(scenario.oversubscription, scenario.rack_nodes)
    if nodes > 1 and scenario.strategy in WITHIN_A_NODE:
        raise refusal(
            "job.one_machine",
            strategy=scenario.strategy,
            node=node.id,
            accelerators=node.accelerators,
            world_size=scenario.world_size,
        )
    software = sharing.software if sharing else software_of_copies(scenario, workload, accelerator, catalogue)
    framework = release(software, catalogue)
    workload = with_joined_norms(workload, framework.joined_norms)
    is_sharded = sharing is not None
    warnings += of_accelerator(accelerator, intra, software, precision, peak_format, is_sharded)
    warnings += [] if is_sharded else of_low_precision(precision, software, framework)
    shards, server_node = framework.server_shards, node
    if strategy == "parameter-server":
        servers = taken.take("servers", scenario.servers, 1)
        shards = taken.take("server-shards", scenario.server_shards, shards)
        server_node = catalogue.node(taken.take("server-node", scenario.server_node, node.id))
    else:
        _refuse_server_options(scenario)
        if not scenario.local_aggregation:
            warnings.append("--no-local-aggregation without effect: there are no parameter servers")
    if updates is not None:
        for name, value in updates.options(scenario.world_size).items():
            taken.take(name.replace("_", "-"), getattr(scenario, name), value)
    if scenario.world_size > 1 and scenario.jitter is None and sharing is None:
        taken.append(default("jitter", str(calibration().spread_of_steps(scenario.input == "real"))))
    own = scenario.inter_link or node.inter_link or DEFAULT_INTER_LINK
    inter = link_over(own, scenario.transport, catalogue)
    link_caveats.warn_of_misplaced_links(
        intra if scenario.intra_link else None, inter if scenario.inter_link else None, warnings
    )
    nics = scenario.nics or adapters_used(node, scenario.accelerators_per_node)
    connections = _connections(scenario, over_adapters, inter, taken)
    if over_adapters:
        few = usual_connections(strategy)
        connections = link_caveats.connections_served(connections, few, node, nics, warnings)
        link_caveats.note_adapters(scenario, node, nics, catalogue, taken, warnings)
        link_caveats.warn_of_network_limit(node, inter, nics, scenario.network_cap, warnings)
    optimizer = taken.take("optimizer", scenario.optimizer, "adam" if sharing else workload.default_optimizer)
    if software != scenario.framework:
        taken.append(default("framework", software, OF_YEAR * (parts(software)[0] == scenario.framework)))
    measured: tuple[Setting, ...] = ()
    if sharing is not None and scenario.anchor is not None:
        scenario, measured = with_measured_runs(scenario, software, precision, catalogue, resolve)
    if accelerator.board_devices > 1:
        warnings.append(
            f"one {accelerator_words(accelerator)} is {accelerator.unit}; --gpus counts devices, not boards"
        )
    profile = None
    if scenario.profile is not None:
        from perfmodel.model.setting.profile import read_profile

        profile = read_profile(scenario.profile)
    return Setting(
        scenario=scenario,
        profile=profile,
        workload=workload,
        accelerator=accelerator,
        node=node,
        intra_link=intra,
        inter_link=inter,
        host_link=catalogue.link(node.host_link or accelerator.host_link),
        socket_link=None if node.socket_link is None else catalogue.link(node.socket_link),
        nics=nics,
        connections=connections,
        world_size=scenario.world_size,
        nodes=nodes,
        accelerators_per_node=per_node,
        precision=precision,
        format=FORMATS[precision],
        peak_flops=peak,
        peak_format=peak_format,
        optimizer=optimizer,
        states=states_of(optimizer, FORMATS[precision], framework.adds_gradients),
        software=software,
        framework=framework,
        software_year=learned_year(software),
        strategy="all-reduce" if strategy == "fsdp" else strategy,
        overlap=_overlap(scenario, taken) if sharing is None else "none",
        servers=servers,
        server_shards=shards,
        server_node=server_node,
        server_link=inter
        if scenario.inter_link
        else link_over(server_node.inter_link or own, scenario.transport, catalogue),
        local_batch_size=local_batch,
        global_batch_size=global_batch,
        accumulation_steps=scenario.accumulation_steps or 1
        if sharing is None
        else sharing.layout.accumulation_steps,
        scaling=scaling,
        loader_workers=loader_workers(scenario, node, per_node, profile, taken.take, warnings),
        storage=storage_of(scenario, taken.take),
        decode_rate=stated_decode_rate(workload, scenario),
        feed=feed(scenario, workload, node, accelerator, warnings),
        defaults=tuple(taken),
        warnings=tuple(warnings),
        layout=None if sharing is None else sharing.layout,
        measured=measured,
        compression=compression_of(scenario),
        updates=updates and updates.settled(scenario.world_size),
    )


def _note_scenario_defaults(scenario: Scenario, taken: _Defaults) -> None:
    """Note the defaults that ``Scenario`` itself fills in, if they matter."""
    stated = scenario.model_fields_set
    if "workload" not in stated:
        taken.append(default("workload", scenario.workload))
    if "world_size" not in stated:
        taken.append(default("gpus", scenario.world_size))
    if scenario.world_size == 1:
        return
    if "strategy" not in stated:
        taken.append(default("strategy", scenario.strategy))
    if "algorithm" not in stated and network_of(scenario.strategy) == "all-reduce":
        taken.append(default("algorithm", scenario.algorithm))


def _refuse_server_options(scenario: Scenario) -> None:
    for name in ("servers", "server_shards", "server_node"):
        if getattr(scenario, name) is not None:
            raise refusal("servers.only", name, strategy=scenario.strategy)


def accelerator_of(scenario: Scenario, catalogue: Catalogue) -> Accelerator:
    """Return the accelerator of a scenario; by default that of its machine, else the usual one.

    Raises
    ------
    InputError : an unknown name
    """
    return _hardware(scenario, catalogue, _Defaults(), [])[0]


def _hardware(
    scenario: Scenario, catalogue: Catalogue, taken: _Defaults, warnings: list[str]
) -> tuple[Accelerator, Node]:
    if scenario.accelerator is None and scenario.node is not None:
        node = catalogue.node(scenario.node)
        held = taken.take("accelerator", node.accelerator, DEFAULT_ACCELERATOR)
        return catalogue.accelerator(held), node
    accelerator = catalogue.accelerator(taken.take("accelerator", scenario.accelerator, DEFAULT_ACCELERATOR))
    node = catalogue.node(
        taken.take("node", scenario.node, accelerator.usual_node or link_caveats.GENERIC_NODE)
    )
    warnings += in_another_machine(node, accelerator, catalogue)
    return accelerator, node


def _batch(scenario: Scenario, workload: Workload, taken: _Defaults) -> tuple[int, int, str]:
    """Return samples per accelerator and micro-batch, samples per iteration, and ``weak`` or ``strong``."""
    steps = scenario.accumulation_steps or 1
    parts = scenario.world_size * steps
    if scenario.global_batch_size is None:
        local = taken.take("local-batch-size", scenario.local_batch_size, workload.default_local_batch_size)
        return local, local * parts, "weak"
    if scenario.local_batch_size is not None:
        raise refusal("batch.exclusive")
    whole = scenario.global_batch_size
    local, rest = divmod(whole, parts)
    if rest or not local:
        right = [str(size) for size in (local * parts, (local + 1) * parts) if size]
        over = f"{scenario.world_size} GPUs"
        over += f" x {steps} micro-batches" * (steps > 1)
        raise refusal(
            "batch.indivisible", "global_batch_size", whole=whole, over=over, known=" or ".join(right)
        )
    return local, whole, "strong"


def _overlap(scenario: Scenario, taken: _Defaults) -> str:
    usual = usual_overlap(scenario)
    return scenario.overlap or "none" if usual is None else taken.take("overlap", scenario.overlap, usual)


def usual_connections(strategy: str) -> int:
    """Return the default number of TCP connections between two machines: 1 to parameter servers."""
    return 1 if strategy == "parameter-server" else link_caveats.NCCL_CONNECTIONS


def _connections(scenario: Scenario, over_adapters: bool, link: Link, taken: _Defaults) -> int:
    usual = usual_connections(network_of(scenario.strategy))
    if not over_adapters or not (link.passes_kernel or link.flow_bandwidth is not None):
        return scenario.connections or usual
    return taken.take("connections", scenario.connections, usual)
