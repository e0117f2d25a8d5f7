"""Made by ``python -m perfmodel.interfaces.stub`` from the register of commands."""

from collections.abc import Mapping, Sequence
from perfmodel.core.files.tables import Report
from perfmodel.decide.explanations.citations import Citations
from perfmodel.decide.explanations.write import Explanation
from perfmodel.decide.quote.answer import ExampleQuotes, QuoteAnswer
from perfmodel.evidence.recipe_rows import Recipes
from perfmodel.evidence.spec_quality import Findings
from perfmodel.evidence.traces.answer import TraceDifference, TraceSummary
from perfmodel.evidence.traces.emulate import Emulation
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.kinds import SpecList
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.software import Software
from perfmodel.interfaces.commands.check_quote import AnyQuote
from perfmodel.interfaces.commands.model_parallel import Point
from perfmodel.interfaces.commands.trace_summary import AnyTraces
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.keywords import SizedOptions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.training.compressed_exchange import CompressedExchanges
from perfmodel.model.prediction.training.distbelief import Downpour, ModelSpeedups
from perfmodel.model.prediction.training.learning_rates import LearningRates
from perfmodel.model.prediction.training.servers import Arrangements
from perfmodel.workloads.listing import NetworkList, NetworkTable
from typing import Any, Literal, Unpack

def check_quote(
        quote: AnyQuote | None = ...,
        *,
        examples: bool = ...,
        where: str = ...,
        calibration: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> QuoteAnswer | ExampleQuotes:
    """Check every claim of a quote against physics, the model's 80 % interval and measured runs.

    Parameters
    ----------
    quote : What a quote's file holds, as a table; or the name of an example, or of a file.
    examples : Instead: list the quotes that come with the package.
    where : What errors call the quote.  [default: quote]
    calibration : What your own runs taught, for every claim: a file of perfmodel calibrate --data.
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : no quote, a scenario that cannot be predicted, or a claim that its workload cannot have; the
        message names the quote and the claim

    Examples
    --------
    Eight V100 cannot train a million images per second:

    >>> from perfmodel import check_quote
    >>> claim = {"quantity": "images_per_second", "value": 1e6}
    >>> check_quote({"title": "Too good", "scenario": {"gpus": 8}, "claims": [claim]})[0].verdict
    'impossible'
    """

def cite(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        conditions: Conditions | None = ...,
        catalogue: Catalogue | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Citations:
    """Return the sources of the formulas, specs, prices and constants that a prediction used.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    conditions : Prices, power and failures: also money, energy and carbon.
    catalogue : hardware to choose from; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import cite
    >>> [source.key for source in cite(gpus=4).sources if source.kind == "software"]
    ['pytorch/amp-note', 'pytorch/ddp-note', 'pytorch/zero-grad']
    """

def compression(
        scheme: Sequence[str] | str = ...,
        *,
        workload: str = ...,
        gpus: int = ...,
        size: float | str | None = ...,
        accelerator: str | None = ...,
        node: str | None = ...,
        accelerators_per_node: int | None = ...,
        intra_link: str | None = ...,
        inter_link: str | None = ...,
        nics: int | None = ...,
        rack_nodes: int | None = ...,
        oversubscription: float = ...,
        placement: Literal['contiguous', 'random'] = ...,
        framework: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> CompressedExchanges:
    """Return what compressing gradients takes and saves: bytes, coding, collective, break-even bandwidth.

    Parameters
    ----------
    scheme : fp16, topk:0.01, randomk:0.01, qsgd:4bit, signsgd, terngrad, powersgd:4, onebit, several, or all.  [default: all]
    workload : Network whose gradients are exchanged.  [default: resnet50]
    gpus : [1] GPUs that exchange them.  [default: 8]
    size : [B] Of a gradient in fp32 in place of the network's, e.g. 100MB.
    accelerator : Accelerator, e.g. k80, v100-sxm2-16gb, h100-sxm5-80gb.  [default: v100-sxm2-16gb, or the node's]
    node : Machine, e.g. dgx-1v.  [default: the accelerator's usual]
    accelerators_per_node : [1] Accelerators of a node that take part.  [default: all]
    intra_link : Link between accelerators of a node.  [default: the node's]
    inter_link : Link between nodes, e.g. ethernet-25g-tcp.  [default: the node's]
    nics : [1] Network adapters per node that carry gradients.  [default: the node's]
    rack_nodes : [1] Nodes under one switch, with oversubscription or --algorithm multi-ring.
    oversubscription : [1] Bandwidth into a rack over bandwidth out of it, e.g. 4.  [default: 1]
    placement : How the job's ring lies on the racks.  [default: contiguous]
    framework : Whose launches coding takes.  [default: pytorch]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name or scheme, a number out of range

    Examples
    --------
    The largest hundredth with their places, everybody's gathered: what a port carries grows with the ranks.

    >>> from perfmodel import compression
    >>> row = compression("topk:0.01", gpus=16).rows[0]
    >>> row.collective, round(row.ratio), row.break_even_density
    ('all-gather', 50, 0.0625)
    """

def downpour(
        workload: str = ...,
        *,
        replicas: int = ...,
        servers: int = ...,
        push_every: int = ...,
        fetch_every: int = ...,
        lost: int = ...,
        step_time: float | str | None = ...,
        server_optimizer: Literal['sgd', 'momentum', 'adagrad', 'adam'] = ...,
        replica_model: Literal['speech', 'image'] | None = ...,
        replica_machines: int = ...,
        accelerator: str | None = ...,
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8'] | None = ...,
        local_batch_size: int | None = ...,
        inter_link: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> Downpour:
    """Return what Downpour SGD reaches: replicas that never wait for each other, over sharded servers.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.  [default: resnet50]
    replicas : [1] Of the model, each of which trains on its own.  [default: 10]
    servers : [1] That hold the model in equal shards.  [default: 1]
    push_every : [1] Steps between two pushes of gradients, summed up meanwhile.  [default: 1]
    fetch_every : [1] Steps between two fetches of parameters.  [default: 1]
    lost : [1] Replicas that have failed.  [default: 0]
    step_time : [s] Of a replica on one machine, e.g. 0.1s.  [default: predicted]
    server_optimizer : Whose state the servers hold.  [default: adagrad]
    replica_model : How a replica speeds up over replica_machines, fitted to DistBelief.
    replica_machines : [1] Of each replica.  [default: 1]
    accelerator : Accelerator, e.g. k80, v100-sxm2-16gb, h100-sxm5-80gb.  [default: v100-sxm2-16gb, or the node's]
    precision : Arithmetic of training.  [default: amp, or fp32 without fp16]
    local_batch_size : [samples] Samples per accelerator and micro-batch: weak scaling.  [default: the network's usual]
    inter_link : Of each replica and server.  [default: the machine's]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name, a number out of range, more replicas lost than there are

    Examples
    --------
    Parameters used for three steps and a push each step: nine others make 18 updates meanwhile.

    >>> from perfmodel import downpour
    >>> downpour(replicas=10, servers=4, fetch_every=3).mean_staleness
    18.0
    """

def emulate(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        steps: int = ...,
        seed: int = ...,
        speed: float = ...,
        catalogue: Catalogue | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Emulation:
    """Return predicted steps, which sleep as long as they take while somebody goes through them.

    Try a loop, a scheduler or a dashboard without a GPU; ``Emulator`` also sleeps through single phases.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    steps : [1] Iterations.  [default: 10]
    seed : [1] Of the jitter.  [default: 0]
    speed : [1] Times faster than in reality.  [default: 1]
    catalogue : hardware to choose from; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import emulate
    >>> [step.number for step in emulate(gpus=8, steps=3, speed=1000)]
    [1, 2, 3]
    """

def explain(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        conditions: Conditions | None = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Explanation:
    """Return the equations of a prediction, term by term, with every number it took and every source.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    conditions : Prices, power and failures: also money, energy and carbon.
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import explain
    >>> explain(gpus=4).equations[-1].term
    'iteration_time'
    """

def learning_rate(
        base: float = ...,
        base_batch: int = ...,
        global_batch_size: int = ...,
        *,
        staleness: float | None = ...,
        warm_up_epochs: float = ...,
        distance_constant: float | None = ...,
        squared_distance: float | None = ...,
        squared_gradient_sum: float | None = ...,
        noise_scale: float | None = ...,
    ) -> LearningRates:
    """Return the learning rate of a batch by the published rules, each with its validity and source.

    Parameters
    ----------
    base : [1] Rate that is good at base_batch.  [default: 0.1]
    base_batch : [samples] Samples of an update.  [default: 256]
    global_batch_size : [samples] Samples of an update to find a rate for.
    staleness : [1] Mean updates between reading parameters and applying a gradient (perfmodel stragglers).
    warm_up_epochs : [1] Over which the rate rises from base; 0 for none.  [default: 5]
    distance_constant : [1] Learning rate times squared_distance.
    squared_distance : [1] Between parameters now and those read.
    squared_gradient_sum : [1] Of one parameter so far: Adagrad.
    noise_scale : [samples] Of the gradient.

    Raises
    ------
    InputError : a number out of its range

    Examples
    --------
    32 times the batch of 256: 32 times the rate, or its square root.

    >>> from perfmodel import learning_rate
    >>> [(row.rule, round(row.learning_rate, 3)) for row in learning_rate(0.1, 256, 8192).rows]
    [('linear', 3.2), ('square root', 0.566)]
    """

def model_parallel(
        model: Literal['speech', 'image'] = ...,
        machines: Sequence[int] | int = ...,
        *,
        point: Point | None = ...,
        peak: bool = ...,
    ) -> ModelSpeedups:
    """Return how one replica speeds up over machines, by a closed form through one reported point.

    Parameters
    ----------
    model : Of DistBelief: speech, 2.2 times on 8 machines; image, 12 times on 81.  [default: speech]
    machines : [1] To list.  [default: 1,2,4,8,16,32,64,81,128]
    point : A model of your own in place of model: machines and speed-up, e.g. 8:2.2.
    peak : Whether the speed-up of point is the largest there is.

    Raises
    ------
    InputError : an unknown model, or a point that no such law goes through

    Examples
    --------
    The law restates the point it was fitted to, and falls beyond its peak.

    >>> from perfmodel import model_parallel
    >>> [round(row.speedup, 2) for row in model_parallel("speech", [8, 16]).rows]
    [2.2, 2.0]
    """

def schema(
        name: str | None = ...,
    ) -> Report:
    """Return the JSON Schema of a command over HTTP, or of all of them an OpenAPI document.

    Parameters
    ----------
    name : Command, as its address has it: predict, trace/summary.  [default: all]

    Raises
    ------
    InputError : no such command
    MissingPackage : what the service needs is not installed

    Examples
    --------
    >>> from perfmodel import schema
    >>> "workers" in schema("servers").components["schemas"]["ServersRequest"]["properties"]
    True
    """

def servers(
        *,
        workers: int = ...,
        servers: int = ...,
        gradient_size: float | str = ...,
        inter_link: str = ...,
        catalogue: Catalogue | None = ...,
    ) -> Arrangements:
    """Return what a push and a pull take by where parameter servers run: apart, on the workers, or both.

    Parameters
    ----------
    workers : [1] Machines with accelerators, at least 2.  [default: 8]
    servers : [1] Parameter servers; on the workers' machines at most one each.  [default: 4]
    gradient_size : [B] Of one worker, e.g. 528MB.  [default: 1e+08]
    inter_link : Of every machine's one port.  [default: ethernet-25g-tcp]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown link, or one inside a machine; numbers out of their range

    Examples
    --------
    As many servers as workers, apart and in blocks, take half as long as a ring of the workers (BytePS).

    >>> from perfmodel import servers
    >>> times = {row.name: row.time for row in servers(workers=64, servers=64, gradient_size="10GB").rows}
    >>> round(times["apart, in blocks"], 2), round(times["none: a ring"], 2)
    (3.73, 7.36)
    """

def hardware(
        kind: Literal['accelerators', 'nodes', 'links', 'software'] = ...,
        *,
        name: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> Accelerator | Node | Link | Software | SpecList:
    """Return the hardware or software of a kind, or one by its name, with the source of each number.

    Parameters
    ----------
    kind : What to list.  [default: accelerators]
    name : One accelerator, node, link or software to show instead.
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown kind or name

    Examples
    --------
    >>> from perfmodel import hardware
    >>> hardware(name="dgx-1v").accelerators
    8
    >>> "ethernet-25g-tcp" in {link.id for link in hardware("links")}
    True
    """

def specs_check(
        *,
        catalogue: Catalogue | None = ...,
    ) -> Findings:
    """Return what is missing, stale, suspicious or without a source in files of hardware.

    Parameters
    ----------
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : none; a file that cannot be read is a finding

    Examples
    --------
    >>> from perfmodel import specs_check
    >>> {finding.kind for finding in specs_check()} <= {"missing", "stale", "assumed"}
    True
    """

def trace_diff(
        measured: AnyTraces = ...,
        predicted: AnyTraces = ...,
        *,
        skip: int = ...,
    ) -> TraceDifference:
    """Return two traces side by side, a step's part by part: a measured one, and a predicted one.

    Parameters
    ----------
    measured : A file of a profiler, or what it holds by its name.
    predicted : Such a file, or one of predict --timeline.
    skip : [1] Marked steps of the first to leave out.  [default: 0]

    Raises
    ------
    InputError : a file that is no trace, or has no marked steps

    Examples
    --------
    >>> from perfmodel import trace_diff
    >>> answer = trace_diff(**COMMAND.bodies["a kernel that got faster"])
    >>> answer.parts[1].part, round(answer.parts[1].ratio, 3)
    ('compute_time', 0.8)
    """

def trace_summary(
        traces: AnyTraces = ...,
        *,
        skip: int = ...,
        accelerators: Sequence[str] | str = ...,
        workload: str | None = ...,
        local_batch_size: int | None = ...,
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8'] | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> TraceSummary:
    """Return what profilers saw of each device: computation, exposed and hidden communication, input, idling.

    Parameters
    ----------
    traces : What each file holds, by its name: the text, or the JSON itself of a Chrome trace; or names of files.
    skip : [1] Marked steps at the start to leave out.  [default: 0]
    accelerators : What the GPUs are, where a file does not say.
    workload : Network of the job: adds what the model recommends.
    local_batch_size : [samples] Samples per accelerator of the job: tries larger ones.
    precision : Arithmetic of the job: tries others.  [default: with a network]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : a file that is no trace; an unknown name; a batch or precision without the network

    Examples
    --------
    >>> from perfmodel import trace_summary
    >>> kernel = {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 10, "dur": 100}
    >>> trace = {"traceEvents": [kernel | {"args": {"device": 0, "stream": 7}}]}
    >>> round(trace_summary({"trace.json": trace}).devices[0]["totals"]["compute_time"], 6)
    0.0001
    """

def networks(
        word: str | None = ...,
        *,
        name: str | None = ...,
        sequence_length: int | None = ...,
        recipes: bool = ...,
    ) -> NetworkTable | NetworkList | Recipes:
    """Return the networks, one of them layer by layer, or how they are trained; counts are per sample.

    Parameters
    ----------
    word : Only those whose name has it; with recipes of one network, or one recipe.
    name : One network to show instead, layer by layer; may be a file.
    sequence_length : [tokens] Tokens of one sample, with name.
    recipes : How networks are trained instead: what was published of each recipe, a row for each batch.

    Raises
    ------
    InputError : an unknown network or recipe, or options that do not go together

    Examples
    --------
    >>> from perfmodel import networks
    >>> [network.id for network in networks("llama-3-8")]
    ['llama-3-8b']
    >>> networks(name="alexnet").parameters
    61100840
    """


class Calls:
    def answer_of(self, command: str, given: Mapping[str, Any]) -> Any: ...

    def check_quote(
        self,
        quote: AnyQuote | None = ...,
        *,
        examples: bool = ...,
        where: str = ...,
        calibration: str | None = ...,
    ) -> QuoteAnswer | ExampleQuotes: ...

    def cite(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        conditions: Conditions | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Citations: ...

    def compression(
        self,
        scheme: Sequence[str] | str = ...,
        *,
        workload: str = ...,
        gpus: int = ...,
        size: float | str | None = ...,
        accelerator: str | None = ...,
        node: str | None = ...,
        accelerators_per_node: int | None = ...,
        intra_link: str | None = ...,
        inter_link: str | None = ...,
        nics: int | None = ...,
        rack_nodes: int | None = ...,
        oversubscription: float = ...,
        placement: Literal['contiguous', 'random'] = ...,
        framework: str | None = ...,
    ) -> CompressedExchanges: ...

    def downpour(
        self,
        workload: str = ...,
        *,
        replicas: int = ...,
        servers: int = ...,
        push_every: int = ...,
        fetch_every: int = ...,
        lost: int = ...,
        step_time: float | str | None = ...,
        server_optimizer: Literal['sgd', 'momentum', 'adagrad', 'adam'] = ...,
        replica_model: Literal['speech', 'image'] | None = ...,
        replica_machines: int = ...,
        accelerator: str | None = ...,
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8'] | None = ...,
        local_batch_size: int | None = ...,
        inter_link: str | None = ...,
    ) -> Downpour: ...

    def explain(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        conditions: Conditions | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Explanation: ...

    def learning_rate(
        self,
        base: float = ...,
        base_batch: int = ...,
        global_batch_size: int = ...,
        *,
        staleness: float | None = ...,
        warm_up_epochs: float = ...,
        distance_constant: float | None = ...,
        squared_distance: float | None = ...,
        squared_gradient_sum: float | None = ...,
        noise_scale: float | None = ...,
    ) -> LearningRates: ...

    def model_parallel(
        self,
        model: Literal['speech', 'image'] = ...,
        machines: Sequence[int] | int = ...,
        *,
        point: Point | None = ...,
        peak: bool = ...,
    ) -> ModelSpeedups: ...

    def servers(
        self,
        *,
        workers: int = ...,
        servers: int = ...,
        gradient_size: float | str = ...,
        inter_link: str = ...,
    ) -> Arrangements: ...

    def hardware(
        self,
        kind: Literal['accelerators', 'nodes', 'links', 'software'] = ...,
        *,
        name: str | None = ...,
    ) -> Accelerator | Node | Link | Software | SpecList: ...

    def specs_check(
        self,
    ) -> Findings: ...

    def trace_diff(
        self,
        measured: AnyTraces = ...,
        predicted: AnyTraces = ...,
        *,
        skip: int = ...,
    ) -> TraceDifference: ...

    def trace_summary(
        self,
        traces: AnyTraces = ...,
        *,
        skip: int = ...,
        accelerators: Sequence[str] | str = ...,
        workload: str | None = ...,
        local_batch_size: int | None = ...,
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8'] | None = ...,
    ) -> TraceSummary: ...

    def networks(
        self,
        word: str | None = ...,
        *,
        name: str | None = ...,
        sequence_length: int | None = ...,
        recipes: bool = ...,
    ) -> NetworkTable | NetworkList | Recipes: ...
