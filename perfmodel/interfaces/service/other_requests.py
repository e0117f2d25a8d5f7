"""What requests hold that are about no single scenario: collectives, workers, quotes, traces, catalogues."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic_core import core_schema

from perfmodel.core.choices import LARGEST_BATCH_SIZE, Placement
from perfmodel.core.records.options import Described
from perfmodel.core.records.record import Within
from perfmodel.core.updates import USUAL_LOCAL_STEPS
from perfmodel.equations.sgd_variants import Variant
from perfmodel.interfaces.service.requests import Count, Request
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario

_Samples = Annotated[int, Within(ge=1, le=LARGEST_BATCH_SIZE, strict=True)]
_Workers = Annotated[int, Within(ge=0, le=1_000_000, strict=True)]
_Name = Annotated[str, Within(min_length=1)]


class Amount:
    """A number in SI units, or a text with its unit."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Take either; the command reads the text."""
        return core_schema.union_schema([core_schema.float_schema(strict=True), core_schema.str_schema()])


class Amounts:
    """An amount, or a list of them."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Take one or several."""
        one = Amount.__get_pydantic_core_schema__(source, handler)
        return core_schema.union_schema([one, core_schema.list_schema(one, min_length=1, max_length=1000)])


class LayoutsRequest(Request):
    """A transformer to share out over accelerators.

    Parameters
    ----------
    workload : Transformer: a name, or a config.json of files.
    gpus : [1] Accelerators in all.
    global_batch_size : [samples] Samples of one step over all accelerators.
    node : Machine, e.g. dgx-h100.  [default: the usual one of the accelerator]
    accelerator : Accelerator, e.g. h100-sxm5-80gb.  [default: that of the node]
    inter_link : Link between machines.  [default: that of the machine]
    nics : [1] Network adapters of each machine.  [default: the machine's]
    connections : [1] TCP connections between two nodes.  [default: NCCL's 16]
    network_cap : Whether the network limit of a rented machine holds, over its own link or another.
    sequence_length : [tokens] Tokens of a sample.  [default: the network's]
    framework : NAME or NAME@YEAR: megatron-core, nemo, fsdp, torchtitan, deepspeed, maxtext, ...
    precision : Of matrix products.
    lora : [1] Rank of adapters that are trained instead of the weights.
    top : [1] So many layouts at most.  [default: all]
    conditions : Prices, power and failures, and the length of a run: also money, energy and carbon.
    """

    workload: str
    gpus: Count
    global_batch_size: _Samples
    node: str | None = None
    accelerator: str | None = None
    inter_link: str | None = None
    nics: Count | None = None
    connections: Count | None = None
    network_cap: bool = True
    sequence_length: Count | None = None
    framework: str = "megatron-core"
    precision: Literal["bf16", "fp16", "fp8"] = "bf16"
    lora: Count | None = None
    top: Count | None = None
    conditions: Conditions | None = None


class CollectiveRequest(Request):
    """One collective on its own, of one message size or of several.

    Parameters
    ----------
    name : What ranks do: all-reduce, reduce-scatter, all-gather, broadcast, all-to-all, send-receive.
    ranks : [1] Ranks in the collective.
    size : [B] Buffer on one rank: a number, a text such as "100MB", or a list of them for a table.
    algorithm : auto (as NCCL chooses), best (the cheapest by our formulas), or a name: ring, tree, ...
    accelerator : What each rank is, e.g. h100-sxm5-80gb.  [default: that of the node]
    node : Machine the ranks lie on, with its links and adapters.  [default: the accelerator's usual one]
    intra_link : Link between the ranks of a node.  [default: that of the machine]
    inter_link : Link between nodes.  [default: that of the machine]
    nodes : [1] Nodes.  [default: as the machine holds the ranks, else 1; with inter_link up to 8 on each]
    nics : [1] Network adapters per node.  [default: those of the machine, else 1]
    connections : [1] TCP connections between two nodes.  [default: NCCL's 16]
    network_cap : Whether the network limit of a rented machine holds, over its own link or another.
    rack_nodes : [1] Nodes under one switch.
    oversubscription : [1] Bandwidth into a rack over bandwidth out of it.
    placement : How the ring lies on the racks.
    torus_dimensions : Ranks in a row x ranks in a column, e.g. 4x8, with the algorithm torus.
    """

    name: str = "all-reduce"
    ranks: Count
    size: Amounts
    algorithm: str = "auto"
    accelerator: str | None = None
    node: str | None = None
    intra_link: str | None = None
    inter_link: str | None = None
    nodes: Count | None = None
    nics: Count | None = None
    connections: Count | None = None
    network_cap: bool = True
    rack_nodes: Count | None = None
    oversubscription: Annotated[float, Within(ge=1, le=1e6)] | None = None
    placement: Placement | None = None
    torus_dimensions: str | None = None


class StragglersRequest(Request):
    """Workers whose times spread, and how their gradients become updates.

    Parameters
    ----------
    variant : Of SGD; all for a table.
    workers : [1] Workers, backup ones included.
    k : [1] Gradients that an update waits for.  [default: half the workers]
    backups : [1] Workers whose gradients an update of backup does without.
    distribution : Of one worker's time per gradient, e.g. lognormal:mean=1,cv=0.1.
    params : Parameters of the distribution by name, besides those in its text.
    local_steps : [1] Steps between two averages, of local-sgd, or two visits to the centre, of elastic.
    communication_time : [s] After the barrier, common to all: a number, or a text such as "1ms".
    server_time : [s] A server's time for one push and pull: async, k-batch-async, elastic.
    """

    variant: Literal[Variant, "all"] = "all"
    workers: Count = 16
    k: Count | None = None
    backups: _Workers | None = None
    distribution: str = "shifted-exponential"
    params: Mapping[str, Amount] | None = None
    local_steps: Count = USUAL_LOCAL_STEPS
    communication_time: Amount = 0.0  # type: ignore[assignment]  # a number is one
    server_time: Amount = 0.0  # type: ignore[assignment]


class ValidateRequest(Described):
    """Measured runs that come with the package.

    Parameters
    ----------
    kind : What was measured.
    mode : Predict from specs alone, or from the measured iteration of one accelerator or machine.
    out_of_sample : Whether each source is predicted by a fit to all the others. Of training that takes some
        40 s on one core, of the other kinds up to 5: a service that allows less (30 s by default,
        perfmodel serve --seconds) answers 504; the command line has no limit.
    """

    kind: Literal["training", "transformers", "collectives", "mlperf", "claims"] = "training"
    mode: Literal["specs", "anchored", "anchored-machine"] = "specs"
    out_of_sample: Annotated[bool, Within(strict=True)] = False


class SweepRequest(Request):
    """Scenarios crossed: every option of a scenario is a value or a list of values.

    Parameters
    ----------
    columns : Of the table, e.g. ["gpus", "iteration_time"].  [default: all]
    """

    columns: Annotated[tuple[str, ...], Within(strict=False, min_length=1)] | None = None

    def __init__(self, /, **table: Any) -> None:
        """Take what is the request's own; options are checked where they are crossed."""
        own = {key: value for key, value in table.items() if key in SweepRequest.model_fields}
        super().__init__(**own)
        options = {key: value for key, value in table.items() if key not in own}
        self.__dict__["options"] = options

    @property
    def options(self) -> dict[str, Any]:
        """Values of options, by the names of a scenario."""
        options: dict[str, Any] = self.__dict__["options"]
        return options

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON schema: that of a scenario, each option also as a list."""
        schema, scenario = super().model_json_schema(), Scenario.model_json_schema()
        for name, option in scenario["properties"].items():
            words = {key: option[key] for key in ("title", "description", "unit") if key in option}
            bare = {key: value for key, value in option.items() if key not in (*words, "default")}
            schema["properties"][name] = words | {
                "anyOf": [bare, {"type": "array", "items": bare, "minItems": 1}]
            }
        return schema
