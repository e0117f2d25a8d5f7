"""Made by ``python -m perfmodel.interfaces.stub`` from the register of commands."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from perfmodel.core.files.tables import Report
from perfmodel.decide.comparison import Comparison
from perfmodel.decide.diagnosis.answer import Diagnosis
from perfmodel.decide.diagnosis.validation import DiagnosisValidation
from perfmodel.decide.explanations.citations import Citations
from perfmodel.decide.explanations.write import Explanation
from perfmodel.decide.fits.answer import Fits
from perfmodel.decide.planning.fleets.result import Fleets
from perfmodel.decide.planning.plans import Plans
from perfmodel.decide.quote.answer import ExampleQuotes, QuoteAnswer
from perfmodel.decide.quote.published import ClaimValidation
from perfmodel.decide.sensitivity.sensitivity_tables import SensitivityReport
from perfmodel.decide.sensitivity.until import Enough
from perfmodel.decide.sweeps import Sweep
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.sgd_variants import StragglerPrediction
from perfmodel.evidence.explained_rows import ExplainedRows
from perfmodel.evidence.fitting.fit_everything import Fit
from perfmodel.evidence.fitting.own_file import OwnRuns
from perfmodel.evidence.recipe_rows import Recipes
from perfmodel.evidence.spec_quality import Findings
from perfmodel.evidence.traces.answer import TraceDifference, TraceSummary
from perfmodel.evidence.traces.emulate import Emulation
from perfmodel.evidence.validation import CollectiveValidation, MlperfValidation, TrainingValidation, TransformerValidation
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.kinds import SpecList
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.software import Software
from perfmodel.interfaces.api.layouts import Layouts
from perfmodel.interfaces.client.report import TableReport
from perfmodel.interfaces.commands.check_quote import AnyQuote
from perfmodel.interfaces.commands.compare import Job
from perfmodel.interfaces.commands.diagnose import Measured
from perfmodel.interfaces.commands.fleets import ByLink
from perfmodel.interfaces.commands.model_parallel import Point
from perfmodel.interfaces.commands.trace_summary import AnyTraces
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.keywords import Options, SizedOptions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.collectives.by_size import Collectives
from perfmodel.model.prediction.collectives.collective import Collective
from perfmodel.model.prediction.scaling import Scaling
from perfmodel.model.prediction.training.adaptive import Schedule
from perfmodel.model.prediction.training.compressed_exchange import CompressedExchanges
from perfmodel.model.prediction.training.distbelief import Downpour, ModelSpeedups
from perfmodel.model.prediction.training.learning_rates import LearningRates
from perfmodel.model.prediction.training.servers import Arrangements
from perfmodel.model.prediction.training.stragglers import Stragglers
from perfmodel.model.setting.profile import Profile
from perfmodel.workloads.listing import NetworkList, NetworkTable
from typing import Any, Literal, Unpack, overload

def adaptive_synchrony(
        *,
        workers: int = ...,
        distribution: str | Distribution = ...,
        params: Mapping[str, float | str] | None = ...,
        communication_time: float | str = ...,
        interval: float | str | None = ...,
        learning_rate: float = ...,
        gpus: int | None = ...,
    ) -> Schedule:
    """Return how many gradients an update should wait for (AdaSync), and how many local steps (AdaComm).

    Each choice minimises the bound on an example objective at the time of the next choice.

    Parameters
    ----------
    workers : [1] Workers, backup ones included.  [default: 16]
    distribution : Distribution of one worker's time per gradient; a name, or name:key=value,...  [default: shifted-exponential]
    params : Parameters of the distribution by name, in addition to those in its text.
    communication_time : [s] Time after the barrier, common to all workers.  [default: 0]
    interval : [s] Time until the next choice.  [default: 20 mean gradients]
    learning_rate : [1] Learning rate of the example objective, above 0, at most 1.  [default: 0.05]
    gpus : Another name of workers.

    Raises
    ------
    InputError : an unknown distribution or parameter, one without a mean, a number out of its range

    Examples
    --------
    An update waits for few gradients at first, for more later; models are averaged rarely at first, often
    later.

    >>> from perfmodel import adaptive_synchrony
    >>> first, *_, last = adaptive_synchrony(workers=16, communication_time="0.5s").choices
    >>> first.k_sync < last.k_sync, first.local_steps > last.local_steps
    (True, True)
    """

@overload
def calibrate(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        traces: Sequence[str | Path] | str | Path,
        skip: int = ...,
        data: str | Path | None = ...,
        collectives: Sequence[str | Path] | str | Path = ...,
        jobs: int | None = ...,
        specs: Sequence[str | Path] | str | Path = ...,
        catalogue: Catalogue | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Profile:
    """Learn from one's own trace, times, runs or all-reduces, or without any fit to measured runs again.

    A trace or times make a Profile, whose ``write`` makes the file that a scenario's ``profile`` names; runs
    or all-reduces make OwnRuns, whose ``write`` makes the file that its ``calibration`` names; ``refit``, or
    nothing, makes a Fit, in about a minute.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    traces : Profiler's file, or a folder of ranks.
    times : Iteration times of one accelerator in seconds, one a line.
    skip : [1] Marked steps to leave out first.  [default: 0]
    data : CSV of measured runs of your own, by which the shipped fit is updated.
    collectives : Output of nccl-tests on your own machines, which tells of their network; say of which job.
    refit : Whether everything is fitted again, to the runs of data or else those that come along.
    jobs : [1] Processes of a fit to measured runs; the result is the same.  [default: 1]
    specs : Folders of your own hardware specs, over the built-in.
    catalogue : hardware to choose from; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : both traces and times, or either with ``data``; a job without any of them; a file that cannot
        be read or does not fit the job

    Warns
    -----
    UserWarning : what a trace does not say of its job, and what was taken instead
    """

@overload
def calibrate(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        times: str | Path,
        skip: int = ...,
        data: str | Path | None = ...,
        collectives: Sequence[str | Path] | str | Path = ...,
        jobs: int | None = ...,
        specs: Sequence[str | Path] | str | Path = ...,
        catalogue: Catalogue | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Profile:
    ...

@overload
def calibrate(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        skip: int = ...,
        data: str | Path | None = ...,
        collectives: Sequence[str | Path] | str | Path = ...,
        refit: Literal[True],
        jobs: int | None = ...,
        specs: Sequence[str | Path] | str | Path = ...,
        catalogue: Catalogue | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Fit:
    ...

@overload
def calibrate(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        skip: int = ...,
        data: str | Path | None = ...,
        collectives: Sequence[str | Path] | str | Path = ...,
        jobs: int | None = ...,
        specs: Sequence[str | Path] | str | Path = ...,
        catalogue: Catalogue | None = ...,
        **options: Unpack[SizedOptions],
    ) -> OwnRuns | Fit:
    ...

def check_quote(
        quote: AnyQuote | None = ...,
        *,
        examples: bool = ...,
        where: str = ...,
        calibration: str | Path | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> QuoteAnswer | ExampleQuotes:
    """Check every claim of a quote against physics, the model's 80 % interval and measured runs.

    Parameters
    ----------
    quote : Content of a quote file as a table; or the name of an example or a file.
    examples : List the quotes that come with the package instead.
    where : Name of the quote in error messages.  [default: quote]
    calibration : Your own runs, for every claim: a CSV, or what perfmodel calibrate data learned from one.
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
    conditions : Also money, energy and carbon, by prices, power and failures.
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

@overload
def collective(
        name: Literal['all-reduce', 'reduce-scatter', 'all-gather', 'broadcast', 'all-to-all', 'send-receive'] = ...,
        *,
        ranks: int,
        size: float | str,
        algorithm: str = ...,
        accelerator: str | None = ...,
        node: str | None = ...,
        intra_link: str | None = ...,
        inter_link: str | None = ...,
        transport: Literal['plug-in', 'tcp'] = ...,
        nodes: int | None = ...,
        nics: int | None = ...,
        connections: int | None = ...,
        network_cap: bool = ...,
        rack_nodes: int | None = ...,
        oversubscription: float | None = ...,
        placement: Literal['contiguous', 'random'] | None = ...,
        torus_dimensions: str | None = ...,
        measured: Measured | None = ...,
        gpus: int | None = ...,
        link: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> Collective:
    """Return the time of a single collective, its algorithm, and how close it is to the lower bound.

    Parameters
    ----------
    name : Collective operation.  [default: all-reduce]
    ranks : [1] Ranks in the collective.
    size : [B] Buffer on one rank: 100MB; a list, or in a shell 1KB..1GB, gives a table.
    algorithm : auto (as NCCL chooses), best (the cheapest by our formulas), or a name: ring, tree, ...  [default: auto]
    accelerator : Accelerator of each rank, e.g. h100-sxm5-80gb.  [default: that of the node]
    node : Machine of the ranks, with its links and adapters, e.g. dgx-1v.  [default: the accelerator's usual one]
    intra_link : Link between the ranks of a node, e.g. nvlink3-nvswitch.  [default: that of the machine]
    inter_link : Link between nodes, e.g. ib-hdr-200g.  [default: that of the machine]
    transport : What carries bytes between nodes: plug-in, the link's own way, with its plug-in where it needs one; tcp, the kernel's sockets over the same adapters, as where a library finds no plug-in.  [default: plug-in]
    nodes : [1] Nodes.  [default: as the machine holds the ranks, else 1; with a link between nodes up to 8 on each]
    nics : [1] Network adapters per node.  [default: the machine's; if the ranks use a part of its accelerators, the same part of them; else 1]
    connections : [1] TCP connections between two nodes.  [default: NCCL's 16]
    network_cap : Whether the network limit of a rented machine applies, over its own link or another.
    rack_nodes : [1] Nodes under one switch, with oversubscription or algorithm multi-ring.
    oversubscription : [1] Bandwidth of a rack's nodes over bandwidth of its uplinks, e.g. 4.
    placement : Order of the job's ring over the racks.
    torus_dimensions : Ranks in a row x ranks in a column of the torus, e.g. 4x8, with algorithm torus.  [default: a node a row, or the most square]
    measured : Output of nccl-tests or rccl-tests on the same machines, shown next to the prediction, which it narrows: a file, or what it contains.
    gpus : Another name of ranks.
    link : Another name of intra_link.
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name, a size out of range, ranks that do not divide among the nodes, no link

    Examples
    --------
    Eight ranks send 2 x 7/8 of the buffer each:

    >>> from perfmodel import collective
    >>> collective("all-reduce", ranks=8, size="100MB", link="nvlink3-nvswitch").bytes_per_rank
    175000000.0
    >>> [row.algorithm for row in collective(ranks=16, size=["1KB", "1GB"], node="dgx-a100").rows]
    ['tree', 'ring']
    >>> collective(ranks=16, size="1GB", accelerator="a100-sxm4-40gb").warnings[0]
    'taken: --node dgx-a100-40gb, the usual machine of A100 SXM4 40 GB'
    """

@overload
def collective(
        name: Literal['all-reduce', 'reduce-scatter', 'all-gather', 'broadcast', 'all-to-all', 'send-receive'] = ...,
        *,
        ranks: int,
        size: list[float] | list[int] | list[str] | tuple[float | str, ...],
        algorithm: str = ...,
        accelerator: str | None = ...,
        node: str | None = ...,
        intra_link: str | None = ...,
        inter_link: str | None = ...,
        transport: Literal['plug-in', 'tcp'] = ...,
        nodes: int | None = ...,
        nics: int | None = ...,
        connections: int | None = ...,
        network_cap: bool = ...,
        rack_nodes: int | None = ...,
        oversubscription: float | None = ...,
        placement: Literal['contiguous', 'random'] | None = ...,
        torus_dimensions: str | None = ...,
        measured: Measured | None = ...,
        gpus: int | None = ...,
        link: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> Collectives:
    ...

def compare(
        *scenarios: Job,
        names: Sequence[str] | str | None = ...,
        conditions: Conditions | None = ...,
        time_to_target: bool = ...,
        recipe: Literal['stock', 'mlperf', 'lars', 'lamb', 'tokens'] | None = ...,
        confidence: float = ...,
        catalogue: Catalogue | None = ...,
    ) -> Comparison:
    """Predict several scenarios and compare each with the first.

    A ``Case`` is already predicted, with its own name and costs.

    Parameters
    ----------
    scenarios : Two or more jobs, each a table of a scenario's options, and of conditions of its own, e.g. pricing.
    names : Names of the scenarios.  [default: A, B, C]
    conditions : Prices, power and failures; money, energy and carbon are compared in any case.
    time_to_target : Also times and costs of training to a published quality.
    recipe : Recipe of that training; implies it.  [default: the usual one of each framework]
    confidence : [1] How sure to be that a recommended case fits, and that it is faster, or at another price cheaper, e.g. 0.5, 0.8 or 0.95: one with more risk is not recommended.  [default: 0.8]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : as ``predict``, with the scenario's name before it; fewer than two scenarios; two of one name

    Examples
    --------
    Twice the accelerators, the same batch on each:

    >>> from perfmodel import compare
    >>> comparison = compare({"gpus": 8}, {"gpus": 16}, names=["eight", "sixteen"])
    >>> [(entry.option, entry.values) for entry in comparison.inputs]
    [('world_size', [8, 16])]
    >>> comparison.card.advice.startswith("Take sixteen for speed: it is 1.9")
    True
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
    """Return bytes, coding time, collective and break-even bandwidth of compressed gradients.

    Parameters
    ----------
    scheme : fp16, topk:0.01, randomk:0.01, qsgd:4bit, signsgd, terngrad, powersgd:4, onebit, several, or all.  [default: all]
    workload : Network whose gradients are exchanged.  [default: resnet50]
    gpus : [1] GPUs that exchange them.  [default: 8]
    size : [B] Size of a gradient in fp32, instead of the network's, e.g. 100MB.
    accelerator : Accelerator, e.g. k80, v100-sxm2-16gb, h100-sxm5-80gb.  [default: v100-sxm2-16gb, or the node's]
    node : Machine, e.g. dgx-1v.  [default: the accelerator's usual]
    accelerators_per_node : [1] Accelerators of a node that the job uses.  [default: all]
    intra_link : Link between the accelerators of a node.  [default: the node's]
    inter_link : Link between nodes, e.g. ethernet-25g-tcp.  [default: the node's]
    nics : [1] Network adapters per node that carry gradients.  [default: the node's; if the job uses a part of its accelerators, the same part of them]
    rack_nodes : [1] Nodes under one switch, with oversubscription or algorithm multi-ring.
    oversubscription : [1] Bandwidth of a rack's nodes over bandwidth of its uplinks, e.g. 4.  [default: 1]
    placement : Order of the job's ring over the racks.  [default: contiguous]
    framework : Framework whose kernel launches coding needs.  [default: pytorch]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name or scheme, a number out of range

    Examples
    --------
    Top-k gathers values and indices of all ranks, so that the traffic of a port grows with the ranks.

    >>> from perfmodel import compression
    >>> row = compression("topk:0.01", gpus=16).rows[0]
    >>> row.collective, round(row.ratio), row.break_even_density
    ('all-gather', 50, 0.0625)
    """

def diagnose(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        measured: Measured = ...,
        *,
        collective: Literal['all-reduce', 'reduce-scatter', 'all-gather', 'broadcast', 'all-to-all', 'send-receive'] | None = ...,
        skip: int | None = ...,
        catalogue: Catalogue | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Diagnosis:
    """Say where a measurement lies in the interval of its job, which cause explains it, and what to do next.

    A cause is the prediction with one input changed: TCP instead of the network's own transport, one network
    adapter, another precision, and so on.  A listing is held against all of them size by size.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    measured : A time or rate, e.g. 145ms or 1234tok/s/gpu; or the log of a run, a trace, or the output of nccl-tests or rccl-tests: the file, or over HTTP what it contains.
    collective : What a listing timed, where it does not say that itself.
    skip : [1] First lines of a log, or marked steps of a trace, to leave out as warm-up.  [default: a tenth of the lines of a log, no step]
    catalogue : hardware to choose from; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : a quantity or file that cannot be read; a job that cannot be predicted, or is not the one
        that was measured

    Examples
    --------
    >>> from perfmodel import diagnose
    >>> slow = diagnose(measured="400ms", gpus=32)
    >>> slow.verdict, slow.terms[0].name
    ('slow', 'backward_time')
    >>> diagnose(measured="19000 images/s", gpus=32).verdict
    'normal'
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
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] | None = ...,
        local_batch_size: int | None = ...,
        inter_link: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> Downpour:
    """Return throughput, staleness and server load of Downpour SGD, with asynchronous replicas.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.  [default: resnet50]
    replicas : [1] Replicas of the model, each of which trains independently.  [default: 10]
    servers : [1] Parameter servers with equal shards of the model.  [default: 1]
    push_every : [1] Steps between two pushes of gradients, summed up meanwhile.  [default: 1]
    fetch_every : [1] Steps between two fetches of parameters.  [default: 1]
    lost : [1] Replicas that have failed.  [default: 0]
    step_time : [s] Step time of a replica on one machine, e.g. 0.1s.  [default: predicted]
    server_optimizer : Optimizer whose state the servers hold.  [default: adagrad]
    replica_model : Speed-up law of a replica over replica_machines, fitted to DistBelief.
    replica_machines : [1] Machines of each replica.  [default: 1]
    accelerator : Accelerator, e.g. k80, v100-sxm2-16gb, h100-sxm5-80gb.  [default: v100-sxm2-16gb, or the node's]
    precision : Arithmetic of training; of accelerators without fp16 fp32 by default.  [default: amp; bf16 with a layout]
    local_batch_size : [samples] Samples per accelerator and micro-batch: weak scaling.  [default: the usual one of the workload]
    inter_link : Link of each replica and server.  [default: the machine's]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name, a number out of range, more replicas lost than there are

    Examples
    --------
    Parameters are used for three steps, with a push each step: nine other replicas make 18 updates meanwhile.

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
    """Return predicted steps as an iterator that sleeps for the time of each step.

    For testing a loop, a scheduler or a dashboard without a GPU; ``Emulator`` also sleeps for single phases.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    steps : [1] Iterations.  [default: 10]
    seed : [1] Seed of the jitter.  [default: 0]
    speed : [1] Speed relative to real time.  [default: 1]
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

def enough(
        vary: Literal['servers', 'inter-link', 'nics', 'gpus'],
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        until: float | str | None = ...,
        values: Sequence[int | str] | int | str | None = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Enough:
    """Return how many servers or adapters, or which network, a job needs to reach a scaling efficiency.

    Parameters
    ----------
    vary : Find the fewest servers or nics, the slowest inter-link or the most gpus that reach until.
    scenario : a training job, or its options by name; None is the usual
    until : [1] Scaling efficiency to reach, e.g. 0.95 or "95%".  [default: 0.95]
    values : Values of vary to try: whole numbers, or names of links.  [default: those on the market]
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : as ``predict``; an option without effect on the job; no value that can be predicted

    Examples
    --------
    >>> from perfmodel import enough
    >>> answer = enough("servers", workload="vgg16", gpus=32, strategy="parameter-server", until="90%")
    >>> answer.answer, [row.reaches for row in answer.tried[:3]]
    (3, [False, False, True])
    """

def explain(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        conditions: Conditions | None = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Explanation:
    """Return the equations of a prediction, term by term, with every number and every source.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    conditions : Also money, energy and carbon, by prices, power and failures.
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

def explain_row(
        row: str,
        *,
        kind: Literal['training', 'transformers', 'collectives', 'mlperf', 'memory'] | None = ...,
        data: str | Path | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> ExplainedRows:
    """Explain a measured row: what it states, how that was read, what was assumed, and what came of it.

    Of a run whose time and memory were both published there are two rows.

    Parameters
    ----------
    row : Its id.
    kind : What was measured.  [default: whichever has the id; of a file, the one with its column of ids, or training]
    data : CSV of measured rows.  [default: those that come with the package, held-out rows too]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown kind or row; a file that cannot be read

    Examples
    --------
    >>> from perfmodel import explain_row
    >>> (explained,) = explain_row("titan-0006").rows
    >>> explained.readings[0].read_as, explained.outcome.holds_80
    ('torchtitan of 2024', True)
    """

def fits(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        confidence: float = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Fits:
    """Return whether a job fits into memory, by stage, and what would make it fit.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    confidence : [1] Probability of fitting from which a change makes a job fit, e.g. 0.95 or "95%".  [default: 0.8]
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : as ``predict``

    Examples
    --------
    Adam's states alone, 16 bytes for each of 8 billion parameters, are more than 80 GB.

    >>> from perfmodel import fits
    >>> answer = fits(workload="llama-3-8b", accelerator="h100-sxm5-80gb", gpus=8, sharding="none")
    >>> answer.fits_probability < 0.5, answer.changes[0].same_training
    (True, True)
    """

def fleets(
        have: str,
        buy: Sequence[str] | str = ...,
        *,
        run_time: float | str | None = ...,
        hour_value: float | str | None = ...,
        adapter_prices: ByLink | None = ...,
        switch_prices: ByLink | None = ...,
        switch_ports: ByLink | None = ...,
        sequence_length: int | None = ...,
        lora: int | None = ...,
        routing_nodes: int | None = ...,
        expert_imbalance: float = ...,
        capacity_factor: float | None = ...,
        lora_targets: str | None = ...,
        frozen_weights: Literal['16-bit', 'nf4', 'nf4-double'] | None = ...,
        document_length: int | None = ...,
        document_spread: float = ...,
        mtp_layers: int | None = ...,
        image_tokens: int | None = ...,
        embedding: Literal['replicated', 'sharded'] | None = ...,
        schedule: Literal['1f1b', 'interleaved', 'zb-h1', 'zb-h2', 'zb-v', 'v-half', 'v-min', 'dualpipe'] | None = ...,
        embedding_slots: bool | None = ...,
        context_method: Literal['ring', 'all-gather', 'ulysses', 'nested'] | None = ...,
        context_inner: int | None = ...,
        expert_tensor_parallel: int | None = ...,
        shard_group: int | None = ...,
        attention_kernel: Literal['unfused', 'flash1', 'flash2', 'flash3', 'sdpa'] | None = ...,
        sequence_parallel: bool | None = ...,
        recompute_modules: str | None = ...,
        loss: Literal['plain', 'chunked', 'fused'] | None = ...,
        gradient_precision: Literal['bf16', 'fp32'] | None = ...,
        offload: Literal['optimizer', 'activations', 'both', 'weights', 'all'] | None = ...,
        optimizer: Literal['none', 'sgd', 'adam', 'lamb', 'lars', 'adam-8bit', 'adam-bf16', 'adam-in-backward', 'adafactor', 'muon'] | None = ...,
        framework: str | None = ...,
        input: Literal['synthetic', 'real'] = ...,
        loader_workers: int | None = ...,
        storage: str | None = ...,
        dataset: str | None = ...,
        dataset_samples: int | None = ...,
        sample_bytes: float | str | None = ...,
        decode_rate: float | str | None = ...,
        decoder: Literal['pil', 'pillow-simd', 'torchvision', 'torchvision-gpu', 'dali-cpu', 'dali-gpu'] | None = ...,
        prefetch_depth: int | None = ...,
        pinned_memory: bool = ...,
        non_blocking: bool = ...,
        persistent_workers: bool = ...,
        cache: Literal['none', 'ram'] = ...,
        jitter: str | None = ...,
        calibration: str | Path | None = ...,
        workload: str = ...,
        epochs: float | None = ...,
        samples: float | str | None = ...,
        tokens: float | str | None = ...,
        deadline: float | str | None = ...,
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] | None = ...,
        algorithm: Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree'] | None = ...,
        strategy: Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process', 'fsdp', 'async', 'k-sync', 'k-batch-sync', 'k-async', 'k-batch-async', 'backup', 'local-sgd', 'elastic'] | None = ...,
        local_batch_size: int | None = ...,
        global_batch_size: int | None = ...,
        prices: Mapping[str, float] = ...,
        purchase_prices: Mapping[str, float] = ...,
        conditions: Conditions | None = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
    ) -> Fleets:
    """Compare what may be bought for a fleet: how much faster it is, what it costs, when it pays back.

    Unlike machines train one job in step, by all-reduce: with as many samples each, so that the slowest
    pace the others, and with as many as each is fast.

    Parameters
    ----------
    have : Machines, e.g. '8 x dgx-a100-80gb@ib-hdr-200g', NODE@LINK, NODE@2 x LINK of two adapters each, or NODE/ACCELERATOR@LINK of those that take any GPU; of several types joined by +.
    buy : With have: '4 x dgx-h100', 'ib-ndr-400g' for all machines, or both joined by +, for each option.  [default: more of the same, faster networks, newer machines]
    run_time : [s] With have: time that your run takes on those machines today, e.g. 18h or 3d; its length need not be known.
    hour_value : [USD] With have: of an hour of the work of those machines.  [default: their rent]
    adapter_prices : With have: of one network adapter that is bought, USD, of all or by link.
    switch_prices : With have: of one switch with its cables, USD, of all or by link; 0 where there are enough.
    switch_ports : With have: of one switch, of all or by link.
    sequence_length : [tokens] Tokens of one sample.
    lora : [1] Rank of adapters that are trained instead of a transformer's own weights (LoRA, QLoRA).
    routing_nodes : [1] Most nodes that a token of a mixture of experts is sent to.  [default: as the network routes; deepseek-v3 to 4]
    expert_imbalance : [1] Tokens of the accelerator with the fullest experts over the mean; 1 is balanced.  [default: 1]
    capacity_factor : [1] Tokens that every expert takes over the mean; more are dropped.  [default: none is dropped]
    lora_targets : Products with adapters: q, k, v, o, gate, up, down; also attention, mlp, all.  [default: as the software does]
    frozen_weights : Storage of the products' frozen weights; nf4: 4 bits, expanded in every pass (QLoRA).  [default: 16-bit]
    document_length : [tokens] Mean length of documents that are packed into sequences; attention stays inside each.  [default: a sequence is one document]
    document_spread : [1] Standard deviation of the documents' lengths over their mean.  [default: 0]
    mtp_layers : [1] Modules after a decoder's last layer that predict a further token each (DeepSeek-V3).  [default: 0, and a note where the network was published with some]
    image_tokens : [tokens] Tokens of one sample that are of images: read by a language model with a vision tower, where 0 leaves out the tower, or made by a diffusion transformer.  [default: one image]
    embedding : Embedding tables of a recommender: replicated, with gradients of every row summed; sharded, whole tables on different accelerators, which exchange and update the rows that a batch looks up.  [default: as the network is usually trained]
    schedule : Order in which stages run forward and backward passes; zb, v and dualpipe compute gradients of weights later than those of inputs.  [default: 1f1b, interleaved where stages have several chunks]
    embedding_slots : Whether embedding and output head each count as a layer when layers are partitioned over stages.  [default: as the software does]
    context_method : How they exchange keys and values: round a ring, during attention; gathered before it; by all-to-alls that leave each rank whole sequences of some heads (ulysses); or all-to-alls between neighbours, and a ring over these groups (nested).  [default: the software's]
    context_inner : [1] Neighbours that exchange heads in a nested exchange.  [default: the most that key-value heads allow]
    expert_tensor_parallel : [1] Accelerators that split every product of an expert; expert x expert tensor parallelism divides a stage's accelerators.  [default: 1 or tensor parallel, as the software has it]
    shard_group : [1] Replicas that share one copy of sharded states, neighbours; the groups sum their gradients (HSDP).  [default: all replicas]
    attention_kernel : Kernel of attention; unfused stores the scores of all pairs of positions.  [default: the framework's]
    sequence_parallel : Whether tensor-parallel ranks share the tokens between products.  [default: as the framework does]
    recompute_modules : Modules that selective recomputation computes again: core_attn, moe_act, layernorm, mla_up_proj, mlp, moe; several separated by commas.  [default: core_attn]
    loss : How logits become a loss: with copies in fp32, a part of the tokens at a time, or without storing them.  [default: the framework's]
    gradient_precision : Precision of gradients that are summed and sent.  [default: the framework's]
    offload : What lies in the host's memory: optimizer states, which the host then updates, activations, or both; weights with their gradients and optimizer states, which replicas shard by zero3 (FSDP's offload_params, DeepSpeed's offload_param), or all of these.  [default: nothing]
    optimizer : Optimizer.  [default: the usual one of the workload]
    framework : Software, optionally with its year, e.g. tensorflow-xla@2020.  [default: pytorch, or usual with a layout]
    input : Where samples come from.  [default: synthetic]
    loader_workers : [1] Decoding workers per node.  [default: the node's cores]
    storage : Storage of the samples: local-ssd, ebs-gp2, ebs-gp3, s3, ram.  [default: local-ssd]
    dataset : Data set: imagenet, cifar10, coco, wikipedia, ...  [default: the network's own]
    dataset_samples : [samples] Samples of the training set, instead of the data set's own number.
    sample_bytes : [B] Size of a stored sample, e.g. 115kB.  [default: the data set's]
    decode_rate : [1/s] Samples per second that one loader worker decodes.
    decoder : Software that decodes images, on the processor or the accelerator.  [default: the framework's]
    prefetch_depth : [1] Batches fetched ahead of a step; 0: the training process loads each before its step.  [default: 2]
    pinned_memory : Whether batches lie in pinned memory; copies of others are slower and block.
    non_blocking : Whether the host continues while a pinned batch is copied.
    persistent_workers : Whether loader workers outlive an epoch.
    cache : Where samples are kept after the first epoch; ram: what fits in the host's memory.  [default: none]
    jitter : Distribution of a worker's step time: lognormal:cv=0.05, empirical:FILE, none.
    calibration : Your own runs: a CSV of them, or what perfmodel calibrate data learned from one.
    workload : Network, or a file: .onnx, .csv, config.json.  [default: resnet50]
    epochs : [1] Epochs of the run.  [default: the target's]
    samples : [count of samples] Samples of the whole run, instead of epochs, e.g. 5M.
    tokens : [count of tokens] Tokens of the whole run, instead of epochs, e.g. 1T or 300B.  [default: of networks that predict the next token those published, or 20 for each parameter]
    deadline : [s] Latest end of the run, e.g. 24h, 3d or 2 weeks.
    precision : Arithmetic of training; of accelerators without fp16 fp32 by default.  [default: amp; bf16 with a layout]
    algorithm : All-reduce algorithm; auto is the choice of NCCL or RCCL, or a ring without either.
    strategy : How gradients are combined; also ddp, dp, horovod, ps; fsdp is all-reduce with zero3.
    local_batch_size : [samples] Samples per accelerator and micro-batch: weak scaling.  [default: the usual one of the workload]
    global_batch_size : [samples] Samples per iteration over all accelerators: strong scaling.
    prices : Rent of one node with all its accelerators, USD per hour, by the name of its type or offer; of the first kind of pricing that is a rent.  [default: the catalogue's]
    purchase_prices : Price to buy one node, USD, by its name, instead of a rent.
    conditions : Region, service years, share of the time at work and electricity; no others.
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package

    Raises
    ------
    InputError : something unknown, a price that is none, a condition that changes nothing of a fleet, a job
        that does not fit

    Examples
    --------
    >>> from perfmodel import fleets
    >>> answer = fleets("8 x dgx-a100-80gb", ["4 x dgx-a100-80gb", "4 x dgx-h100"], workload="bert-large")
    >>> [(one.option, one.policy) for one in answer.options][1:]
    [('4 x dgx-h100', 'slowest paces'), ('4 x dgx-h100', 'shares by speed')]
    >>> answer.options[1].ratio.value < answer.options[2].ratio.value
    True
    """

def layouts(
        workload: str,
        *,
        gpus: int,
        global_batch_size: int,
        node: str | None = ...,
        accelerator: str | None = ...,
        host_memory: float | str | None = ...,
        inter_link: str | None = ...,
        transport: Literal['plug-in', 'tcp'] = ...,
        nics: int | None = ...,
        connections: int | None = ...,
        network_cap: bool = ...,
        sequence_length: int | None = ...,
        image_tokens: int | None = ...,
        framework: str = ...,
        precision: Literal['bf16', 'fp16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] = ...,
        lora: int | None = ...,
        routing_nodes: int | None = ...,
        expert_imbalance: float = ...,
        capacity_factor: float | None = ...,
        expert_tensor_parallel: int | None = ...,
        lora_targets: str | None = ...,
        frozen_weights: Literal['16-bit', 'nf4', 'nf4-double'] | None = ...,
        document_length: int | None = ...,
        document_spread: float = ...,
        attention_kernel: Literal['unfused', 'flash1', 'flash2', 'flash3', 'sdpa'] | None = ...,
        sequence_parallel: bool | None = ...,
        recompute_modules: str | None = ...,
        loss: Literal['plain', 'chunked', 'fused'] | None = ...,
        gradient_precision: Literal['bf16', 'fp32'] | None = ...,
        offload: Literal['optimizer', 'activations', 'both', 'weights', 'all'] | None = ...,
        optimizer: Literal['none', 'sgd', 'adam', 'lamb', 'lars', 'adam-8bit', 'adam-bf16', 'adam-in-backward', 'adafactor', 'muon'] | None = ...,
        mtp_layers: int | None = ...,
        schedule: Literal['1f1b', 'interleaved', 'zb-h1', 'zb-h2', 'zb-v', 'v-half', 'v-min', 'dualpipe'] | None = ...,
        embedding_slots: bool | None = ...,
        context_method: Literal['ring', 'all-gather', 'ulysses', 'nested'] | None = ...,
        context_inner: int | None = ...,
        shard_group: int | None = ...,
        against: str | None = ...,
        top: int | None = ...,
        confidence: float = ...,
        conditions: Conditions | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> Layouts:
    """Return every layout of a transformer that fits on a number of accelerators, the fastest first.

    Parameters
    ----------
    workload : Transformer: a name, or its config.json.
    gpus : [1] Accelerators in all.
    global_batch_size : [samples] Samples of one step over all accelerators.
    node : Machine, e.g. dgx-h100.  [default: the usual one of the accelerator]
    accelerator : Accelerator, e.g. h100-sxm5-80gb.  [default: that of the node]
    host_memory : [B] Memory of each machine's host, e.g. 128GB: what lies there must fit, and samples are cached there.  [default: the machine's, where it is known]
    inter_link : Link between machines.  [default: that of the machine]
    transport : What carries bytes between nodes: plug-in, the link's own way, with its plug-in where it needs one; tcp, the kernel's sockets over the same adapters, as where a library finds no plug-in.  [default: plug-in]
    nics : [1] Network adapters of each machine.  [default: the machine's]
    connections : [1] TCP connections between two nodes.  [default: NCCL's 16]
    network_cap : Whether the network limit of a rented machine applies, over its own link or another.
    sequence_length : [tokens] Tokens of a sample.  [default: the network's]
    image_tokens : [tokens] Tokens of one sample that are of images: read by a language model with a vision tower, where 0 leaves out the tower, or made by a diffusion transformer.  [default: one image]
    framework : NAME or NAME@YEAR: megatron-core, nemo, fsdp, torchtitan, deepspeed, maxtext, ...  [default: megatron-core; axolotl with frozen_weights in 4 bits]
    precision : Precision of matrix products.  [default: bf16]
    lora : [1] Rank of adapters that are trained instead of a transformer's own weights (LoRA, QLoRA).
    routing_nodes : [1] Most nodes that a token of a mixture of experts is sent to.  [default: as the network routes; deepseek-v3 to 4]
    expert_imbalance : [1] Tokens of the accelerator with the fullest experts over the mean; 1 is balanced.  [default: 1]
    capacity_factor : [1] Tokens that every expert takes over the mean; more are dropped.  [default: none is dropped]
    expert_tensor_parallel : [1] Accelerators that split every product of an expert.  [default: 1, and tensor parallel]
    lora_targets : Products with adapters: q, k, v, o, gate, up, down; also attention, mlp, all.  [default: as the software does]
    frozen_weights : Storage of the products' frozen weights; nf4: 4 bits, expanded in every pass (QLoRA).  [default: 16-bit]
    document_length : [tokens] Mean length of documents that are packed into sequences; attention stays inside each.  [default: a sequence is one document]
    document_spread : [1] Standard deviation of the documents' lengths over their mean.  [default: 0]
    attention_kernel : Kernel of attention; unfused stores the scores of all pairs of positions.  [default: the framework's]
    sequence_parallel : Whether tensor-parallel ranks share the tokens between products.  [default: as the framework does]
    recompute_modules : Modules that selective recomputation computes again: core_attn, moe_act, layernorm, mla_up_proj, mlp, moe; several separated by commas.  [default: core_attn]
    loss : How logits become a loss: with copies in fp32, a part of the tokens at a time, or without storing them.  [default: the framework's]
    gradient_precision : Precision of gradients that are summed and sent.  [default: the framework's]
    offload : What lies in the host's memory: optimizer states, which the host then updates, activations, or both; weights with their gradients and optimizer states, which replicas shard by zero3 (FSDP's offload_params, DeepSpeed's offload_param), or all of these.  [default: nothing]
    optimizer : Optimizer.  [default: the usual one of the workload]
    mtp_layers : [1] Modules after a decoder's last layer that predict a further token each (DeepSeek-V3).  [default: 0, and a note where the network was published with some]
    schedule : Order of passes in pipelines.  [default: 1f1b, and interleaved]
    embedding_slots : Whether embedding and output head each count as a layer when layers are partitioned over stages.  [default: as the software does]
    context_method : How context-parallel ranks exchange keys and values.  [default: the software's]
    context_inner : [1] Neighbours that exchange heads in a nested exchange.  [default: the most that key-value heads allow]
    shard_group : [1] Replicas that share one copy of sharded states (HSDP).  [default: all replicas]
    against : A layout to compare with the first, which may be one that does not fit, e.g. tensor_parallel=8,pipeline_parallel=4,micro_batch_size=2, or as tables print it: "tp8 pp4 dp2, 2 x 4".
    top : [1] Number of layouts to list.  [default: all; in a shell's table 10]
    confidence : [1] How sure to be that the layout to take fits into memory, e.g. 0.5, 0.8 or 0.95: one with more risk is not recommended where another has less.  [default: 0.95]
    conditions : Prices, power and failures, and the length of a run: also money, energy and carbon.
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name, a network that is no transformer, or nothing that fits

    Examples
    --------
    >>> from perfmodel import layouts
    >>> rows = layouts("llama-3-8b", gpus=8, node="dgx-h100", global_batch_size=64).rows
    >>> rows[0].iteration_time <= rows[-1].iteration_time
    True
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
    """Return the learning rate for a batch size by published rules, each with its validity and source.

    Parameters
    ----------
    base : [1] Good learning rate at base_batch.  [default: 0.1]
    base_batch : [samples] Samples of an update at base.  [default: 256]
    global_batch_size : [samples] Samples of an update for which to find a rate.
    staleness : [1] Mean updates between reading parameters and applying a gradient (perfmodel stragglers).
    warm_up_epochs : [1] Epochs over which the rate rises from base; 0 for none.  [default: 5]
    distance_constant : [1] Learning rate times squared_distance.
    squared_distance : [1] Squared distance between the present parameters and those read.
    squared_gradient_sum : [1] Sum of squared gradients of one parameter so far, for Adagrad.
    noise_scale : [samples] Noise scale of the gradient.

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
    """Return the speed-up of one replica over machines, by a closed form through one reported point.

    Parameters
    ----------
    model : Model of DistBelief: speech, 2.2 times on 8 machines; image, 12 times on 81.  [default: speech]
    machines : [1] Numbers of machines to list.  [default: 1,2,4,8,16,32,64,81,128]
    point : Machines and speed-up of your own model, instead of model, e.g. 8:2.2.
    peak : Whether the speed-up of point is the largest possible.

    Raises
    ------
    InputError : an unknown model, or a point that the law cannot pass through

    Examples
    --------
    The law passes through the point it was fitted to, and falls beyond its peak.

    >>> from perfmodel import model_parallel
    >>> [round(row.speedup, 2) for row in model_parallel("speech", [8, 16]).rows]
    [2.2, 2.0]
    """

@overload
def plan(
        workload: str = ...,
        *,
        epochs: float | None = ...,
        samples: float | str | None = ...,
        tokens: float | str | None = ...,
        target: str | None = ...,
        recipe: Literal['stock', 'mlperf', 'lars', 'lamb', 'tokens'] | None = ...,
        deadline: float | str | None = ...,
        budget: float | str | None = ...,
        confidence: float = ...,
        power_limit: float | str | None = ...,
        accelerators: Sequence[str] | str = ...,
        instances: Sequence[str] | str = ...,
        nodes: Sequence[str] | str = ...,
        max_gpus: int = ...,
        max_nodes: int | None = ...,
        strategies: Sequence[Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process']] | Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process'] = ...,
        algorithms: Sequence[Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree']] | Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree'] = ...,
        precisions: Sequence[Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4']] | Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] = ...,
        server_node: str | None = ...,
        local_batch_sizes: Sequence[int] | int = ...,
        max_global_batch_size: int | None = ...,
        global_batch_size: int | None = ...,
        pricing: Sequence[Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned']] | Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned'] = ...,
        prices: Mapping[str, float] = ...,
        purchase_prices: Mapping[str, float] = ...,
        buy: Sequence[str] | str = ...,
        run_time: float | str | None = ...,
        hour_value: float | str | None = ...,
        adapter_prices: ByLink | None = ...,
        switch_prices: ByLink | None = ...,
        switch_ports: ByLink | None = ...,
        sequence_length: int | None = ...,
        lora: int | None = ...,
        routing_nodes: int | None = ...,
        expert_imbalance: float = ...,
        capacity_factor: float | None = ...,
        lora_targets: str | None = ...,
        frozen_weights: Literal['16-bit', 'nf4', 'nf4-double'] | None = ...,
        document_length: int | None = ...,
        document_spread: float = ...,
        mtp_layers: int | None = ...,
        image_tokens: int | None = ...,
        embedding: Literal['replicated', 'sharded'] | None = ...,
        schedule: Literal['1f1b', 'interleaved', 'zb-h1', 'zb-h2', 'zb-v', 'v-half', 'v-min', 'dualpipe'] | None = ...,
        embedding_slots: bool | None = ...,
        context_method: Literal['ring', 'all-gather', 'ulysses', 'nested'] | None = ...,
        context_inner: int | None = ...,
        expert_tensor_parallel: int | None = ...,
        shard_group: int | None = ...,
        attention_kernel: Literal['unfused', 'flash1', 'flash2', 'flash3', 'sdpa'] | None = ...,
        sequence_parallel: bool | None = ...,
        recompute_modules: str | None = ...,
        loss: Literal['plain', 'chunked', 'fused'] | None = ...,
        gradient_precision: Literal['bf16', 'fp32'] | None = ...,
        offload: Literal['optimizer', 'activations', 'both', 'weights', 'all'] | None = ...,
        optimizer: Literal['none', 'sgd', 'adam', 'lamb', 'lars', 'adam-8bit', 'adam-bf16', 'adam-in-backward', 'adafactor', 'muon'] | None = ...,
        framework: str | None = ...,
        input: Literal['synthetic', 'real'] = ...,
        loader_workers: int | None = ...,
        storage: str | None = ...,
        dataset: str | None = ...,
        dataset_samples: int | None = ...,
        sample_bytes: float | str | None = ...,
        decode_rate: float | str | None = ...,
        decoder: Literal['pil', 'pillow-simd', 'torchvision', 'torchvision-gpu', 'dali-cpu', 'dali-gpu'] | None = ...,
        prefetch_depth: int | None = ...,
        pinned_memory: bool = ...,
        non_blocking: bool = ...,
        persistent_workers: bool = ...,
        cache: Literal['none', 'ram'] = ...,
        jitter: str | None = ...,
        calibration: str | Path | None = ...,
        have: None = ...,
        conditions: Conditions | None = ...,
        limit: int | None = ...,
        offset: int = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
    ) -> Plans:
    """Search what to hire for a run: the cheapest in time, the fastest within budget, and why not others.

    With ``have`` instead compare what may be bought for those machines, as ``fleets`` does.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.  [default: resnet50]
    epochs : [1] Epochs of the run.  [default: the target's]
    samples : [count of samples] Samples of the whole run, instead of epochs, e.g. 5M.
    tokens : [count of tokens] Tokens of the whole run, instead of epochs, e.g. 1T or 300B.  [default: of networks that predict the next token those published, or 20 for each parameter]
    target : Published quality that ends the run, instead of a length.
    recipe : Recipe of the training to the target; perfmodel workloads recipes lists them.  [default: that of framework; without one stock, for BERT mlperf]
    deadline : [s] Latest end of the run, e.g. 24h, 3d or 2 weeks.
    budget : [USD] Largest cost of the run, e.g. $20,000 or 1.5M.
    confidence : [1] How sure to be that a plan fits into memory and keeps deadline and budget, e.g. 0.5, 0.8 or 0.95: one with more risk is not recommended.  [default: 0.8]
    power_limit : [W] Largest rated power of the job, with host_power and pue, e.g. 500kW.
    accelerators : Accelerators to choose from, e.g. a100-sxm4-40gb,h100-sxm5-80gb.
    instances : Cloud offers to choose from, e.g. p4d.24xlarge.
    nodes : Machines to choose from, e.g. dgx-1v,p3.16xlarge.  [default: all for rent]
    max_gpus : [1] Largest number of GPUs in the job.  [default: 512]
    max_nodes : [1] Largest number of machines in the job.
    strategies : Strategies to choose from.  [default: all-reduce,parameter-server]
    algorithms : All-reduce algorithms to choose from.  [default: auto]
    precisions : Precisions to choose from.  [default: amp,bf16,tf32,fp32; bf16 for transformers with layouts]
    server_node : Machine of a parameter server.  [default: that of the workers]
    local_batch_sizes : [samples] Batch sizes of a GPU to choose from.  [default: powers of two that fit]
    max_global_batch_size : [samples] Largest global batch.  [default: the largest published]
    global_batch_size : [samples] Global batch size of every plan.  [default: any; for transformers with layouts the largest of published runs on as many tokens]
    pricing : Kinds of price to compare: each offer is tried at each of them.  [default: on-demand; owned for machines with a purchase_price]
    prices : Rent of one node with all its accelerators, USD per hour, by the name of its type or offer; of the first kind of pricing that is a rent.  [default: the catalogue's]
    purchase_prices : Price to buy one node, USD, by its name, instead of a rent.
    buy : With have: '4 x dgx-h100', 'ib-ndr-400g' for all machines, or both joined by +, for each option.  [default: more of the same, faster networks, newer machines]
    run_time : [s] With have: time that your run takes on those machines today, e.g. 18h or 3d; its length need not be known.
    hour_value : [USD] With have: of an hour of the work of those machines.  [default: their rent]
    adapter_prices : With have: of one network adapter that is bought, USD, of all or by link.
    switch_prices : With have: of one switch with its cables, USD, of all or by link; 0 where there are enough.
    switch_ports : With have: of one switch, of all or by link.
    sequence_length : [tokens] Tokens of one sample.
    lora : [1] Rank of adapters that are trained instead of a transformer's own weights (LoRA, QLoRA).
    routing_nodes : [1] Most nodes that a token of a mixture of experts is sent to.  [default: as the network routes; deepseek-v3 to 4]
    expert_imbalance : [1] Tokens of the accelerator with the fullest experts over the mean; 1 is balanced.  [default: 1]
    capacity_factor : [1] Tokens that every expert takes over the mean; more are dropped.  [default: none is dropped]
    lora_targets : Products with adapters: q, k, v, o, gate, up, down; also attention, mlp, all.  [default: as the software does]
    frozen_weights : Storage of the products' frozen weights; nf4: 4 bits, expanded in every pass (QLoRA).  [default: 16-bit]
    document_length : [tokens] Mean length of documents that are packed into sequences; attention stays inside each.  [default: a sequence is one document]
    document_spread : [1] Standard deviation of the documents' lengths over their mean.  [default: 0]
    mtp_layers : [1] Modules after a decoder's last layer that predict a further token each (DeepSeek-V3).  [default: 0, and a note where the network was published with some]
    image_tokens : [tokens] Tokens of one sample that are of images: read by a language model with a vision tower, where 0 leaves out the tower, or made by a diffusion transformer.  [default: one image]
    embedding : Embedding tables of a recommender: replicated, with gradients of every row summed; sharded, whole tables on different accelerators, which exchange and update the rows that a batch looks up.  [default: as the network is usually trained]
    schedule : Order in which stages run forward and backward passes; zb, v and dualpipe compute gradients of weights later than those of inputs.  [default: 1f1b, interleaved where stages have several chunks]
    embedding_slots : Whether embedding and output head each count as a layer when layers are partitioned over stages.  [default: as the software does]
    context_method : How they exchange keys and values: round a ring, during attention; gathered before it; by all-to-alls that leave each rank whole sequences of some heads (ulysses); or all-to-alls between neighbours, and a ring over these groups (nested).  [default: the software's]
    context_inner : [1] Neighbours that exchange heads in a nested exchange.  [default: the most that key-value heads allow]
    expert_tensor_parallel : [1] Accelerators that split every product of an expert; expert x expert tensor parallelism divides a stage's accelerators.  [default: 1 or tensor parallel, as the software has it]
    shard_group : [1] Replicas that share one copy of sharded states, neighbours; the groups sum their gradients (HSDP).  [default: all replicas]
    attention_kernel : Kernel of attention; unfused stores the scores of all pairs of positions.  [default: the framework's]
    sequence_parallel : Whether tensor-parallel ranks share the tokens between products.  [default: as the framework does]
    recompute_modules : Modules that selective recomputation computes again: core_attn, moe_act, layernorm, mla_up_proj, mlp, moe; several separated by commas.  [default: core_attn]
    loss : How logits become a loss: with copies in fp32, a part of the tokens at a time, or without storing them.  [default: the framework's]
    gradient_precision : Precision of gradients that are summed and sent.  [default: the framework's]
    offload : What lies in the host's memory: optimizer states, which the host then updates, activations, or both; weights with their gradients and optimizer states, which replicas shard by zero3 (FSDP's offload_params, DeepSpeed's offload_param), or all of these.  [default: nothing]
    optimizer : Optimizer.  [default: the usual one of the workload]
    framework : Software, optionally with its year, e.g. tensorflow-xla@2020.  [default: pytorch, or usual with a layout]
    input : Where samples come from.  [default: synthetic]
    loader_workers : [1] Decoding workers per node.  [default: the node's cores]
    storage : Storage of the samples: local-ssd, ebs-gp2, ebs-gp3, s3, ram.  [default: local-ssd]
    dataset : Data set: imagenet, cifar10, coco, wikipedia, ...  [default: the network's own]
    dataset_samples : [samples] Samples of the training set, instead of the data set's own number.
    sample_bytes : [B] Size of a stored sample, e.g. 115kB.  [default: the data set's]
    decode_rate : [1/s] Samples per second that one loader worker decodes.
    decoder : Software that decodes images, on the processor or the accelerator.  [default: the framework's]
    prefetch_depth : [1] Batches fetched ahead of a step; 0: the training process loads each before its step.  [default: 2]
    pinned_memory : Whether batches lie in pinned memory; copies of others are slower and block.
    non_blocking : Whether the host continues while a pinned batch is copied.
    persistent_workers : Whether loader workers outlive an epoch.
    cache : Where samples are kept after the first epoch; ram: what fits in the host's memory.  [default: none]
    jitter : Distribution of a worker's step time: lognormal:cv=0.05, empirical:FILE, none.
    calibration : Your own runs: a CSV of them, or what perfmodel calibrate data learned from one.
    have : Machines you have, e.g. '8 x dgx-a100-80gb@ib-hdr-200g', NODE@LINK, or NODE@2 x LINK of two adapters each; what takes any GPU is NODE/ACCELERATOR@LINK.  What would more add to them?  Several types joined by +.
    conditions : Region, power and failures; its own prices and length of a run are not used.
    limit : [1] Plans of a page: also so many of all that were tried, the cheapest first.
    offset : [1] Plans before the page.  [default: 0]
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package

    Raises
    ------
    InputError : something unknown or impossible; no plan at all

    Examples
    --------
    >>> from perfmodel import plan
    >>> plans = plan("resnet50", epochs=90, deadline="24h", accelerators="v100-sxm2-16gb", max_gpus=32)
    >>> plans.chosen.run_time < 86400, plans.chosen.cost == min(each.cost for each in plans.front)
    (True, True)
    """

@overload
def plan(
        workload: str = ...,
        *,
        epochs: float | None = ...,
        samples: float | str | None = ...,
        tokens: float | str | None = ...,
        target: str | None = ...,
        recipe: Literal['stock', 'mlperf', 'lars', 'lamb', 'tokens'] | None = ...,
        deadline: float | str | None = ...,
        budget: float | str | None = ...,
        confidence: float = ...,
        power_limit: float | str | None = ...,
        accelerators: Sequence[str] | str = ...,
        instances: Sequence[str] | str = ...,
        nodes: Sequence[str] | str = ...,
        max_gpus: int = ...,
        max_nodes: int | None = ...,
        strategies: Sequence[Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process']] | Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process'] = ...,
        algorithms: Sequence[Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree']] | Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree'] = ...,
        precisions: Sequence[Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4']] | Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] = ...,
        server_node: str | None = ...,
        local_batch_sizes: Sequence[int] | int = ...,
        max_global_batch_size: int | None = ...,
        global_batch_size: int | None = ...,
        pricing: Sequence[Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned']] | Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned'] = ...,
        prices: Mapping[str, float] = ...,
        purchase_prices: Mapping[str, float] = ...,
        buy: Sequence[str] | str = ...,
        run_time: float | str | None = ...,
        hour_value: float | str | None = ...,
        adapter_prices: ByLink | None = ...,
        switch_prices: ByLink | None = ...,
        switch_ports: ByLink | None = ...,
        sequence_length: int | None = ...,
        lora: int | None = ...,
        routing_nodes: int | None = ...,
        expert_imbalance: float = ...,
        capacity_factor: float | None = ...,
        lora_targets: str | None = ...,
        frozen_weights: Literal['16-bit', 'nf4', 'nf4-double'] | None = ...,
        document_length: int | None = ...,
        document_spread: float = ...,
        mtp_layers: int | None = ...,
        image_tokens: int | None = ...,
        embedding: Literal['replicated', 'sharded'] | None = ...,
        schedule: Literal['1f1b', 'interleaved', 'zb-h1', 'zb-h2', 'zb-v', 'v-half', 'v-min', 'dualpipe'] | None = ...,
        embedding_slots: bool | None = ...,
        context_method: Literal['ring', 'all-gather', 'ulysses', 'nested'] | None = ...,
        context_inner: int | None = ...,
        expert_tensor_parallel: int | None = ...,
        shard_group: int | None = ...,
        attention_kernel: Literal['unfused', 'flash1', 'flash2', 'flash3', 'sdpa'] | None = ...,
        sequence_parallel: bool | None = ...,
        recompute_modules: str | None = ...,
        loss: Literal['plain', 'chunked', 'fused'] | None = ...,
        gradient_precision: Literal['bf16', 'fp32'] | None = ...,
        offload: Literal['optimizer', 'activations', 'both', 'weights', 'all'] | None = ...,
        optimizer: Literal['none', 'sgd', 'adam', 'lamb', 'lars', 'adam-8bit', 'adam-bf16', 'adam-in-backward', 'adafactor', 'muon'] | None = ...,
        framework: str | None = ...,
        input: Literal['synthetic', 'real'] = ...,
        loader_workers: int | None = ...,
        storage: str | None = ...,
        dataset: str | None = ...,
        dataset_samples: int | None = ...,
        sample_bytes: float | str | None = ...,
        decode_rate: float | str | None = ...,
        decoder: Literal['pil', 'pillow-simd', 'torchvision', 'torchvision-gpu', 'dali-cpu', 'dali-gpu'] | None = ...,
        prefetch_depth: int | None = ...,
        pinned_memory: bool = ...,
        non_blocking: bool = ...,
        persistent_workers: bool = ...,
        cache: Literal['none', 'ram'] = ...,
        jitter: str | None = ...,
        calibration: str | Path | None = ...,
        have: str,
        conditions: Conditions | None = ...,
        limit: int | None = ...,
        offset: int = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
    ) -> Fleets:
    ...

def scale(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        gpus: Sequence[int] | int = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
        **options: Unpack[Options],
    ) -> Scaling:
    """Return time, throughput and efficiency of the same job on several numbers of accelerators.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    gpus : [1] Numbers of accelerators, one for each row; in a shell also ranges: 8-64:8.  [default: 1,2,4,8,16,32]
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import scale
    >>> scaling = scale(workload="resnet50", gpus=[1, 8, 64])
    >>> [row.world_size for row in scaling.rows]
    [1, 8, 64]
    >>> round(scaling.rows[0].scaling_efficiency, 9)
    1.0
    """

def schema(
        name: str | None = ...,
    ) -> Report:
    """Return the JSON Schema of a command over HTTP, or an OpenAPI document of all commands.

    Parameters
    ----------
    name : Command, as in its address: predict, trace/summary.  [default: all]

    Raises
    ------
    InputError : an unknown command
    MissingPackage : a package of the service is not installed

    Examples
    --------
    >>> from perfmodel import schema
    >>> "workers" in schema("servers").components["schemas"]["ServersRequest"]["properties"]
    True
    """

def sensitivity(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        vary: Literal['servers', 'inter-link', 'nics', 'gpus'] | None = ...,
        until: float | str | None = ...,
        values: Sequence[int | str] | int | str | None = ...,
        conditions: Conditions | None = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
        **options: Unpack[SizedOptions],
    ) -> SensitivityReport | Enough:
    """Return how time and cost of an iteration depend on its inputs, or with ``vary`` how much suffices.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    vary : Instead find the fewest servers or nics, the slowest inter-link or the most gpus that reach {until}.
    until : [1] Scaling efficiency to reach, e.g. 0.95 or "95%".  [default: 0.95]
    values : Values of vary to try: whole numbers, or names of links.  [default: those on the market]
    conditions : Prices, power and failures: also what the cost depends on.
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package
    options : of a scenario, laid over it; either batch size takes the place of the other

    Raises
    ------
    InputError : an unknown name or option, or options that do not go together

    Examples
    --------
    >>> from perfmodel import sensitivity
    >>> report = sensitivity(gpus=32)
    >>> max(report.inputs, key=lambda row: abs(row["time"]["elasticity"] or 0))["name"]
    'local_batch_size'
    """

def servers(
        *,
        workers: int = ...,
        servers: int = ...,
        gradient_size: float | str = ...,
        inter_link: str = ...,
        catalogue: Catalogue | None = ...,
    ) -> Arrangements:
    """Return the time of push and pull with parameter servers on machines of their own, on workers, or both.

    Parameters
    ----------
    workers : [1] Machines with accelerators, at least 2.  [default: 8]
    servers : [1] Parameter servers; on the workers' machines at most one each.  [default: 4]
    gradient_size : [B] Size of one worker's gradient, e.g. 528MB.  [default: 1e+08]
    inter_link : Link of every machine, which has one port.  [default: ethernet-25g-tcp]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown link, or one inside a machine; numbers out of their range

    Examples
    --------
    As many servers as workers, on their own machines and in blocks, take half as long as a ring (BytePS).

    >>> from perfmodel import servers
    >>> times = {row.name: row.time for row in servers(workers=64, servers=64, gradient_size="10GB").rows}
    >>> round(times["apart, in blocks"], 2), round(times["none: a ring"], 2)
    (4.17, 8.21)
    """

def specs(
        kind: Literal['accelerators', 'nodes', 'links', 'software'] = ...,
        *,
        name: str | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> Accelerator | Node | Link | Software | SpecList:
    """Return a part of the catalogue, or one entry by its name, with the source of each number.

    Parameters
    ----------
    kind : Part of the catalogue to list.  [default: accelerators]
    name : One accelerator, node, link or software to show instead; with kind, of that part alone.
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown kind or name

    Examples
    --------
    >>> from perfmodel import specs
    >>> specs(name="dgx-1v").accelerators
    8
    >>> "ethernet-25g-tcp" in {link.id for link in specs("links")}
    True
    """

def specs_check(
        *,
        catalogue: Catalogue | None = ...,
    ) -> Findings:
    """Return missing, stale, suspicious or unsourced entries in hardware files.

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

@overload
def stragglers(
        variant: Literal['sync', 'k-sync', 'k-batch-sync', 'async', 'k-async', 'k-batch-async', 'backup', 'local-sgd', 'elastic'],
        *,
        workers: int = ...,
        distribution: str | Distribution = ...,
        params: Mapping[str, float | str] | None = ...,
        communication_time: float | str = ...,
        k: int | None = ...,
        backups: int | None = ...,
        local_steps: int = ...,
        server_time: float | str = ...,
        gpus: int | None = ...,
    ) -> StragglerPrediction:
    """Return the time per update and per gradient, and the staleness, of variants of distributed SGD.

    Parameters
    ----------
    variant : Variant of SGD; all for a table.  [default: all]
    workers : [1] Workers, backup ones included.  [default: 16]
    distribution : Distribution of one worker's time per gradient; a name, or name:key=value,...  [default: shifted-exponential]
    params : Parameters of the distribution by name, in addition to those in its text.
    communication_time : [s] Time after the barrier, common to all workers.  [default: 0]
    k : [1] Gradients that an update waits for: k-sync, k-async, k-batch-sync, k-batch-async.  [default: half the workers]
    backups : [1] Workers whose gradients an update does not wait for: backup.  [default: 1]
    local_steps : [1] Steps between two averages (local-sgd), or between exchanges with the centre (elastic).  [default: 10]
    server_time : [s] Time of a server for one push and pull: async, k-batch-async, elastic.  [default: 0]
    gpus : Another name of workers.

    Raises
    ------
    InputError : an unknown variant, distribution or parameter, k out of range, an option of other variants

    Examples
    --------
    Shifted exponential times, the sixth fastest of 8: 1 + (1/8 + ... + 1/3) / 2.

    >>> from perfmodel import stragglers
    >>> answer = stragglers("k-sync", workers=8, k=6, distribution="shifted-exponential:shift=1,rate=2")
    >>> round(answer.update_time, 9)
    1.608928571
    >>> [row.variant for row in stragglers(workers=8).rows][:3]
    ['sync', 'k-sync', 'k-batch-sync']
    """

@overload
def stragglers(
        variant: Literal['all'] = ...,
        *,
        workers: int = ...,
        distribution: str | Distribution = ...,
        params: Mapping[str, float | str] | None = ...,
        communication_time: float | str = ...,
        k: int | None = ...,
        backups: int | None = ...,
        local_steps: int = ...,
        server_time: float | str = ...,
        gpus: int | None = ...,
    ) -> Stragglers:
    ...

def sweep(
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        columns: Sequence[str] | str | None = ...,
        catalogue: Catalogue | None = ...,
        constants: Calibration | None = ...,
        **options: object,
    ) -> Sweep:
    """Cross options and predict every scenario.

    Nothing is computed until the result is read: by ``chunks``, ``table``, ``to_csv`` or ``to_parquet``.

    Parameters
    ----------
    scenario : a training job, or its options by name; None is the usual
    columns : Of the table, e.g. ["gpus", "iteration_time"].  [default: the options given and every result except startup_time, epoch_start_time and memory_known]
    catalogue : hardware to choose from; by default what comes with the package
    constants : learned numbers; by default what comes with the package
    options : of a scenario, laid over it, each a value or a list, tuple, range or array of values

    Raises
    ------
    InputError : an unknown option, name or column, or a value of the wrong type

    Examples
    --------
    Two networks on 1 to 64 accelerators, over two links: 2 x 7 x 2 scenarios.

    >>> from perfmodel import sweep
    >>> answer = sweep(
    ...     workload=["resnet50", "vgg16"],
    ...     gpus=[1, 2, 4, 8, 16, 32, 64],
    ...     inter_link=["ethernet-25g-tcp", "ib-edr-100g"],
    ... )
    >>> len(answer)
    28
    >>> table = answer.table()
    >>> bool((table["iteration_time"] > 0).all())
    True
    """

def trace_diff(
        measured: AnyTraces,
        predicted: AnyTraces,
        *,
        skip: int = ...,
    ) -> TraceDifference:
    """Return the differences of a measured and a predicted step, part by part.

    Parameters
    ----------
    measured : A profiler file, or its content by its name.
    predicted : A profiler file, or one of predict timeline.
    skip : [1] Marked steps at the start of the first file to leave out.  [default: 0]

    Raises
    ------
    InputError : a file that is not a trace, or has no marked steps

    Examples
    --------
    >>> from perfmodel import trace_diff
    >>> answer = trace_diff(**COMMAND.bodies["a kernel that got faster"])
    >>> answer.parts[1].part, round(answer.parts[1].ratio, 3)
    ('compute_time', 0.8)
    """

def trace_summary(
        traces: AnyTraces,
        *,
        skip: int = ...,
        accelerators: Sequence[str] | str = ...,
        workload: str | None = ...,
        local_batch_size: int | None = ...,
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> TraceSummary:
    """Return the times of each device: computation, exposed and hidden communication, input, idle time.

    Parameters
    ----------
    traces : Content of each file by its name: the text, or the JSON itself of a Chrome trace; or names of files.
    skip : [1] Marked steps at the start to leave out.  [default: 0]
    accelerators : Accelerators of the job, for files without their names.
    workload : Network of the job: adds recommendations.
    local_batch_size : [samples] Samples per accelerator of the job: recommendations try larger ones.
    precision : Precision of the job: recommendations try others.  [default: with a network]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : a file that is not a trace; an unknown name; a batch or precision without the network

    Examples
    --------
    >>> from perfmodel import trace_summary
    >>> kernel = {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 10, "dur": 100}
    >>> trace = {"traceEvents": [kernel | {"args": {"device": 0, "stream": 7}}]}
    >>> round(trace_summary({"trace.json": trace}).devices[0]["totals"]["compute_time"], 6)
    0.0001
    """

@overload
def validate(
        kind: Literal['training'] = ...,
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> TrainingValidation:
    """Predict measured runs and compare: signed errors, next to a naive answer's.

    Collectives and claims have no anchor; claims, of which nothing is learned, take no data; neither they nor
    mlperf are predicted out of sample.  Diagnoses are of shipped listings, always out of sample.

    Parameters
    ----------
    kind : What was measured; transformers under any parallelism; mlperf is time to train, claims are figures others published, diagnose is listings of collectives that are normal or known to be wrong.  [default: training]
    mode : Predict from specs alone, or from the measured iteration of one accelerator, of transformers of another run; training on several machines also from that of one of them.  [default: specs]
    data : CSV of measured runs; of training also a file that calibrate learns from.  [default: those that come along]
    out_of_sample : Predict each source by a fit to all the others. Of training that takes some 40 s on one core, of other kinds up to 5; a service that allows less answers 504.
    jobs : [1] Processes of out_of_sample, of training; the answer is the same. A service starts one.  [default: 1]
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown kind or mode; a file that cannot be read

    Examples
    --------
    >>> from perfmodel import validate
    >>> found = validate("collectives")
    >>> found.errors.median_absolute_error < found.naive.median_absolute_error
    True
    """

@overload
def validate(
        kind: Literal['transformers'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> TransformerValidation:
    ...

@overload
def validate(
        kind: Literal['collectives'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> CollectiveValidation:
    ...

@overload
def validate(
        kind: Literal['mlperf'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> MlperfValidation:
    ...

@overload
def validate(
        kind: Literal['claims'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> ClaimValidation:
    ...

@overload
def validate(
        kind: Literal['diagnose'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
        catalogue: Catalogue | None = ...,
    ) -> DiagnosisValidation:
    ...

def networks(
        word: str | None = ...,
        *,
        name: str | None = ...,
        sequence_length: int | None = ...,
        image_tokens: int | None = ...,
        recipes: bool = ...,
    ) -> NetworkTable | NetworkList | Recipes:
    """Return the networks, one of them layer by layer, or training recipes; counts are per sample.

    Parameters
    ----------
    word : List only networks whose name contains it; with recipes, those of one network, or one recipe.
    name : One network to show instead, layer by layer; may be a file.
    sequence_length : [tokens] Tokens of one sample, with name.
    image_tokens : [tokens] Those of images, with name.
    recipes : List training recipes instead: published results, a row for each batch.

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

    def adaptive_synchrony(
        self,
        *,
        workers: int = ...,
        distribution: str | Distribution = ...,
        params: Mapping[str, float | str] | None = ...,
        communication_time: float | str = ...,
        interval: float | str | None = ...,
        learning_rate: float = ...,
        gpus: int | None = ...,
    ) -> Schedule: ...

    def check_quote(
        self,
        quote: AnyQuote | None = ...,
        *,
        examples: bool = ...,
        where: str = ...,
        calibration: str | Path | None = ...,
    ) -> QuoteAnswer | ExampleQuotes: ...

    def cite(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        conditions: Conditions | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Citations: ...

    @overload
    def collective(
        self,
        name: Literal['all-reduce', 'reduce-scatter', 'all-gather', 'broadcast', 'all-to-all', 'send-receive'] = ...,
        *,
        ranks: int,
        size: float | str,
        algorithm: str = ...,
        accelerator: str | None = ...,
        node: str | None = ...,
        intra_link: str | None = ...,
        inter_link: str | None = ...,
        transport: Literal['plug-in', 'tcp'] = ...,
        nodes: int | None = ...,
        nics: int | None = ...,
        connections: int | None = ...,
        network_cap: bool = ...,
        rack_nodes: int | None = ...,
        oversubscription: float | None = ...,
        placement: Literal['contiguous', 'random'] | None = ...,
        torus_dimensions: str | None = ...,
        measured: Measured | None = ...,
        gpus: int | None = ...,
        link: str | None = ...,
    ) -> Collective: ...

    @overload
    def collective(
        self,
        name: Literal['all-reduce', 'reduce-scatter', 'all-gather', 'broadcast', 'all-to-all', 'send-receive'] = ...,
        *,
        ranks: int,
        size: list[float] | list[int] | list[str] | tuple[float | str, ...],
        algorithm: str = ...,
        accelerator: str | None = ...,
        node: str | None = ...,
        intra_link: str | None = ...,
        inter_link: str | None = ...,
        transport: Literal['plug-in', 'tcp'] = ...,
        nodes: int | None = ...,
        nics: int | None = ...,
        connections: int | None = ...,
        network_cap: bool = ...,
        rack_nodes: int | None = ...,
        oversubscription: float | None = ...,
        placement: Literal['contiguous', 'random'] | None = ...,
        torus_dimensions: str | None = ...,
        measured: Measured | None = ...,
        gpus: int | None = ...,
        link: str | None = ...,
    ) -> Collectives: ...

    def compare(
        self,
        *scenarios: Job,
        names: Sequence[str] | str | None = ...,
        conditions: Conditions | None = ...,
        time_to_target: bool = ...,
        recipe: Literal['stock', 'mlperf', 'lars', 'lamb', 'tokens'] | None = ...,
        confidence: float = ...,
    ) -> Comparison: ...

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

    def diagnose(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        measured: Measured = ...,
        *,
        collective: Literal['all-reduce', 'reduce-scatter', 'all-gather', 'broadcast', 'all-to-all', 'send-receive'] | None = ...,
        skip: int | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Diagnosis: ...

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
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] | None = ...,
        local_batch_size: int | None = ...,
        inter_link: str | None = ...,
    ) -> Downpour: ...

    def enough(
        self,
        vary: Literal['servers', 'inter-link', 'nics', 'gpus'],
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        until: float | str | None = ...,
        values: Sequence[int | str] | int | str | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Enough: ...

    def explain(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        conditions: Conditions | None = ...,
        **options: Unpack[SizedOptions],
    ) -> Explanation: ...

    def explain_row(
        self,
        row: str,
        *,
        kind: Literal['training', 'transformers', 'collectives', 'mlperf', 'memory'] | None = ...,
        data: str | Path | None = ...,
    ) -> ExplainedRows: ...

    def fits(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        confidence: float = ...,
        **options: Unpack[SizedOptions],
    ) -> Fits: ...

    def layouts(
        self,
        workload: str,
        *,
        gpus: int,
        global_batch_size: int,
        node: str | None = ...,
        accelerator: str | None = ...,
        host_memory: float | str | None = ...,
        inter_link: str | None = ...,
        transport: Literal['plug-in', 'tcp'] = ...,
        nics: int | None = ...,
        connections: int | None = ...,
        network_cap: bool = ...,
        sequence_length: int | None = ...,
        image_tokens: int | None = ...,
        framework: str = ...,
        precision: Literal['bf16', 'fp16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] = ...,
        lora: int | None = ...,
        routing_nodes: int | None = ...,
        expert_imbalance: float = ...,
        capacity_factor: float | None = ...,
        expert_tensor_parallel: int | None = ...,
        lora_targets: str | None = ...,
        frozen_weights: Literal['16-bit', 'nf4', 'nf4-double'] | None = ...,
        document_length: int | None = ...,
        document_spread: float = ...,
        attention_kernel: Literal['unfused', 'flash1', 'flash2', 'flash3', 'sdpa'] | None = ...,
        sequence_parallel: bool | None = ...,
        recompute_modules: str | None = ...,
        loss: Literal['plain', 'chunked', 'fused'] | None = ...,
        gradient_precision: Literal['bf16', 'fp32'] | None = ...,
        offload: Literal['optimizer', 'activations', 'both', 'weights', 'all'] | None = ...,
        optimizer: Literal['none', 'sgd', 'adam', 'lamb', 'lars', 'adam-8bit', 'adam-bf16', 'adam-in-backward', 'adafactor', 'muon'] | None = ...,
        mtp_layers: int | None = ...,
        schedule: Literal['1f1b', 'interleaved', 'zb-h1', 'zb-h2', 'zb-v', 'v-half', 'v-min', 'dualpipe'] | None = ...,
        embedding_slots: bool | None = ...,
        context_method: Literal['ring', 'all-gather', 'ulysses', 'nested'] | None = ...,
        context_inner: int | None = ...,
        shard_group: int | None = ...,
        against: str | None = ...,
        top: int | None = ...,
        confidence: float = ...,
        conditions: Conditions | None = ...,
    ) -> Layouts: ...

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

    @overload
    def plan(
        self,
        workload: str = ...,
        *,
        epochs: float | None = ...,
        samples: float | str | None = ...,
        tokens: float | str | None = ...,
        target: str | None = ...,
        recipe: Literal['stock', 'mlperf', 'lars', 'lamb', 'tokens'] | None = ...,
        deadline: float | str | None = ...,
        budget: float | str | None = ...,
        confidence: float = ...,
        power_limit: float | str | None = ...,
        accelerators: Sequence[str] | str = ...,
        instances: Sequence[str] | str = ...,
        nodes: Sequence[str] | str = ...,
        max_gpus: int = ...,
        max_nodes: int | None = ...,
        strategies: Sequence[Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process']] | Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process'] = ...,
        algorithms: Sequence[Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree']] | Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree'] = ...,
        precisions: Sequence[Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4']] | Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] = ...,
        server_node: str | None = ...,
        local_batch_sizes: Sequence[int] | int = ...,
        max_global_batch_size: int | None = ...,
        global_batch_size: int | None = ...,
        pricing: Sequence[Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned']] | Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned'] = ...,
        prices: Mapping[str, float] = ...,
        purchase_prices: Mapping[str, float] = ...,
        buy: Sequence[str] | str = ...,
        run_time: float | str | None = ...,
        hour_value: float | str | None = ...,
        adapter_prices: ByLink | None = ...,
        switch_prices: ByLink | None = ...,
        switch_ports: ByLink | None = ...,
        sequence_length: int | None = ...,
        lora: int | None = ...,
        routing_nodes: int | None = ...,
        expert_imbalance: float = ...,
        capacity_factor: float | None = ...,
        lora_targets: str | None = ...,
        frozen_weights: Literal['16-bit', 'nf4', 'nf4-double'] | None = ...,
        document_length: int | None = ...,
        document_spread: float = ...,
        mtp_layers: int | None = ...,
        image_tokens: int | None = ...,
        embedding: Literal['replicated', 'sharded'] | None = ...,
        schedule: Literal['1f1b', 'interleaved', 'zb-h1', 'zb-h2', 'zb-v', 'v-half', 'v-min', 'dualpipe'] | None = ...,
        embedding_slots: bool | None = ...,
        context_method: Literal['ring', 'all-gather', 'ulysses', 'nested'] | None = ...,
        context_inner: int | None = ...,
        expert_tensor_parallel: int | None = ...,
        shard_group: int | None = ...,
        attention_kernel: Literal['unfused', 'flash1', 'flash2', 'flash3', 'sdpa'] | None = ...,
        sequence_parallel: bool | None = ...,
        recompute_modules: str | None = ...,
        loss: Literal['plain', 'chunked', 'fused'] | None = ...,
        gradient_precision: Literal['bf16', 'fp32'] | None = ...,
        offload: Literal['optimizer', 'activations', 'both', 'weights', 'all'] | None = ...,
        optimizer: Literal['none', 'sgd', 'adam', 'lamb', 'lars', 'adam-8bit', 'adam-bf16', 'adam-in-backward', 'adafactor', 'muon'] | None = ...,
        framework: str | None = ...,
        input: Literal['synthetic', 'real'] = ...,
        loader_workers: int | None = ...,
        storage: str | None = ...,
        dataset: str | None = ...,
        dataset_samples: int | None = ...,
        sample_bytes: float | str | None = ...,
        decode_rate: float | str | None = ...,
        decoder: Literal['pil', 'pillow-simd', 'torchvision', 'torchvision-gpu', 'dali-cpu', 'dali-gpu'] | None = ...,
        prefetch_depth: int | None = ...,
        pinned_memory: bool = ...,
        non_blocking: bool = ...,
        persistent_workers: bool = ...,
        cache: Literal['none', 'ram'] = ...,
        jitter: str | None = ...,
        calibration: str | Path | None = ...,
        have: None = ...,
        conditions: Conditions | None = ...,
        limit: int | None = ...,
        offset: int = ...,
    ) -> Plans: ...

    @overload
    def plan(
        self,
        workload: str = ...,
        *,
        epochs: float | None = ...,
        samples: float | str | None = ...,
        tokens: float | str | None = ...,
        target: str | None = ...,
        recipe: Literal['stock', 'mlperf', 'lars', 'lamb', 'tokens'] | None = ...,
        deadline: float | str | None = ...,
        budget: float | str | None = ...,
        confidence: float = ...,
        power_limit: float | str | None = ...,
        accelerators: Sequence[str] | str = ...,
        instances: Sequence[str] | str = ...,
        nodes: Sequence[str] | str = ...,
        max_gpus: int = ...,
        max_nodes: int | None = ...,
        strategies: Sequence[Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process']] | Literal['all-reduce', 'parameter-server', 'parameter-server-local', 'data-parallel-single-process'] = ...,
        algorithms: Sequence[Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree']] | Literal['auto', 'best', 'ring', 'ring-chunked', 'hierarchical', 'multi-ring', 'torus', 'tree', 'leader', 'recursive-doubling', 'halving-doubling', 'reduce-broadcast', 'exchange', 'hub', 'nvls', 'nvls-tree', 'switch-tree'] = ...,
        precisions: Sequence[Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4']] | Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] = ...,
        server_node: str | None = ...,
        local_batch_sizes: Sequence[int] | int = ...,
        max_global_batch_size: int | None = ...,
        global_batch_size: int | None = ...,
        pricing: Sequence[Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned']] | Literal['on-demand', 'spot', 'reserved-1y', 'reserved-3y', 'owned'] = ...,
        prices: Mapping[str, float] = ...,
        purchase_prices: Mapping[str, float] = ...,
        buy: Sequence[str] | str = ...,
        run_time: float | str | None = ...,
        hour_value: float | str | None = ...,
        adapter_prices: ByLink | None = ...,
        switch_prices: ByLink | None = ...,
        switch_ports: ByLink | None = ...,
        sequence_length: int | None = ...,
        lora: int | None = ...,
        routing_nodes: int | None = ...,
        expert_imbalance: float = ...,
        capacity_factor: float | None = ...,
        lora_targets: str | None = ...,
        frozen_weights: Literal['16-bit', 'nf4', 'nf4-double'] | None = ...,
        document_length: int | None = ...,
        document_spread: float = ...,
        mtp_layers: int | None = ...,
        image_tokens: int | None = ...,
        embedding: Literal['replicated', 'sharded'] | None = ...,
        schedule: Literal['1f1b', 'interleaved', 'zb-h1', 'zb-h2', 'zb-v', 'v-half', 'v-min', 'dualpipe'] | None = ...,
        embedding_slots: bool | None = ...,
        context_method: Literal['ring', 'all-gather', 'ulysses', 'nested'] | None = ...,
        context_inner: int | None = ...,
        expert_tensor_parallel: int | None = ...,
        shard_group: int | None = ...,
        attention_kernel: Literal['unfused', 'flash1', 'flash2', 'flash3', 'sdpa'] | None = ...,
        sequence_parallel: bool | None = ...,
        recompute_modules: str | None = ...,
        loss: Literal['plain', 'chunked', 'fused'] | None = ...,
        gradient_precision: Literal['bf16', 'fp32'] | None = ...,
        offload: Literal['optimizer', 'activations', 'both', 'weights', 'all'] | None = ...,
        optimizer: Literal['none', 'sgd', 'adam', 'lamb', 'lars', 'adam-8bit', 'adam-bf16', 'adam-in-backward', 'adafactor', 'muon'] | None = ...,
        framework: str | None = ...,
        input: Literal['synthetic', 'real'] = ...,
        loader_workers: int | None = ...,
        storage: str | None = ...,
        dataset: str | None = ...,
        dataset_samples: int | None = ...,
        sample_bytes: float | str | None = ...,
        decode_rate: float | str | None = ...,
        decoder: Literal['pil', 'pillow-simd', 'torchvision', 'torchvision-gpu', 'dali-cpu', 'dali-gpu'] | None = ...,
        prefetch_depth: int | None = ...,
        pinned_memory: bool = ...,
        non_blocking: bool = ...,
        persistent_workers: bool = ...,
        cache: Literal['none', 'ram'] = ...,
        jitter: str | None = ...,
        calibration: str | Path | None = ...,
        have: str,
        conditions: Conditions | None = ...,
        limit: int | None = ...,
        offset: int = ...,
    ) -> Fleets: ...

    def scale(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        gpus: Sequence[int] | int = ...,
        **options: Unpack[Options],
    ) -> Scaling: ...

    def sensitivity(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        vary: Literal['servers', 'inter-link', 'nics', 'gpus'] | None = ...,
        until: float | str | None = ...,
        values: Sequence[int | str] | int | str | None = ...,
        conditions: Conditions | None = ...,
        **options: Unpack[SizedOptions],
    ) -> SensitivityReport | Enough: ...

    def servers(
        self,
        *,
        workers: int = ...,
        servers: int = ...,
        gradient_size: float | str = ...,
        inter_link: str = ...,
    ) -> Arrangements: ...

    def specs(
        self,
        kind: Literal['accelerators', 'nodes', 'links', 'software'] = ...,
        *,
        name: str | None = ...,
    ) -> Accelerator | Node | Link | Software | SpecList: ...

    def specs_check(
        self,
    ) -> Findings: ...

    @overload
    def stragglers(
        self,
        variant: Literal['sync', 'k-sync', 'k-batch-sync', 'async', 'k-async', 'k-batch-async', 'backup', 'local-sgd', 'elastic'],
        *,
        workers: int = ...,
        distribution: str | Distribution = ...,
        params: Mapping[str, float | str] | None = ...,
        communication_time: float | str = ...,
        k: int | None = ...,
        backups: int | None = ...,
        local_steps: int = ...,
        server_time: float | str = ...,
        gpus: int | None = ...,
    ) -> StragglerPrediction: ...

    @overload
    def stragglers(
        self,
        variant: Literal['all'] = ...,
        *,
        workers: int = ...,
        distribution: str | Distribution = ...,
        params: Mapping[str, float | str] | None = ...,
        communication_time: float | str = ...,
        k: int | None = ...,
        backups: int | None = ...,
        local_steps: int = ...,
        server_time: float | str = ...,
        gpus: int | None = ...,
    ) -> Stragglers: ...

    def sweep(
        self,
        scenario: Scenario | Mapping[str, Any] | None = ...,
        *,
        columns: Sequence[str] | str | None = ...,
        **options: object,
    ) -> TableReport: ...

    def trace_diff(
        self,
        measured: AnyTraces,
        predicted: AnyTraces,
        *,
        skip: int = ...,
    ) -> TraceDifference: ...

    def trace_summary(
        self,
        traces: AnyTraces,
        *,
        skip: int = ...,
        accelerators: Sequence[str] | str = ...,
        workload: str | None = ...,
        local_batch_size: int | None = ...,
        precision: Literal['fp32', 'tf32', 'fp16', 'amp', 'bf16', 'fp8', 'mxfp8', 'nvfp4', 'mxfp4'] | None = ...,
    ) -> TraceSummary: ...

    @overload
    def validate(
        self,
        kind: Literal['training'] = ...,
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
    ) -> TrainingValidation: ...

    @overload
    def validate(
        self,
        kind: Literal['transformers'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
    ) -> TransformerValidation: ...

    @overload
    def validate(
        self,
        kind: Literal['collectives'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
    ) -> CollectiveValidation: ...

    @overload
    def validate(
        self,
        kind: Literal['mlperf'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
    ) -> MlperfValidation: ...

    @overload
    def validate(
        self,
        kind: Literal['claims'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
    ) -> ClaimValidation: ...

    @overload
    def validate(
        self,
        kind: Literal['diagnose'],
        *,
        mode: Literal['specs', 'anchored', 'anchored-machine'] = ...,
        data: str | Path | None = ...,
        out_of_sample: bool = ...,
        jobs: int | None = ...,
    ) -> DiagnosisValidation: ...

    def networks(
        self,
        word: str | None = ...,
        *,
        name: str | None = ...,
        sequence_length: int | None = ...,
        image_tokens: int | None = ...,
        recipes: bool = ...,
    ) -> NetworkTable | NetworkList | Recipes: ...
