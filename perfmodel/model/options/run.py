"""A training run to be done, and what may be hired for it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from perfmodel.core.choices import (
    SYNONYMS,
    Algorithm,
    Precision,
    Samples,
    StrategyOfCopies,
)
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, fresh
from perfmodel.model.options.conditions import LARGEST, Conditions

LARGEST_SEARCH = 65_536
"""GPUs of a search; beyond, ask for fewer machines."""
MOST_TOKENS = 1e18

_Above = Annotated[float, Within(gt=0, le=LARGEST, strict=True)]
_GPUs = Annotated[int, Within(ge=1, le=LARGEST_SEARCH, strict=True)]


class Run(Described):
    """A run and what may be hired for it; of what is left open, everything is tried.

    Parameters
    ----------
    workload : Network, or a file: .onnx, .csv, config.json.
    epochs : [1] Of the run.  [default: those the target takes]
    samples : [count of samples] Of the whole run, instead of epochs, e.g. 5M.
    tokens : [count of tokens] Of the whole run, instead of epochs, e.g. 1T or 300B.
    target : Published quality that ends the run, instead of either.
    recipe : How training to it goes; perfmodel workloads recipes lists them.
        [default: what goes with --framework; without one stock, for BERT mlperf]
    deadline : [s] Of the run, e.g. 24h, 3d or 2 weeks.
    budget : [USD] Of the run, e.g. $20,000 or 1.5M.
    power_limit : [W] Of the whole job at rated power, e.g. 500kW; --host-power and --pue come on top.
    accelerators : To choose from, e.g. a100-sxm4-40gb,h100-sxm5-80gb.
    instances : Cloud offers to choose from, e.g. p4d.24xlarge.
    nodes : To choose from, e.g. dgx-1v,p3.16xlarge.  [default: all for hire]
    max_gpus : [1] In the job.
    max_nodes : [1] Machines in the job.
    strategies : To choose from.  [default: all-reduce,parameter-server]
    algorithms : Of all-reduce.  [default: auto]
    precisions : To choose from.  [default: amp,bf16,tf32,fp32; of transformers that are shared out, bf16]
    server_node : Machine of a parameter server.  [default: as those that train]
    local_batch_sizes : [samples] To choose from.  [default: powers of two that fit]
    max_global_batch : [samples] Largest global batch.  [default: the largest published]
    global_batch_size : [samples] Of every plan.
        [default: any; of transformers that are shared out, about 4 M tokens]
    prices : USD for an hour of one node with all its accelerators, by the name of its type or offer.
        [default: the catalogue's]
    purchase_prices : Of one node, USD, by its name, instead of a rent.
    conditions : Region, power and failures; its own prices and length of a run are not used.
    options : Of every candidate's scenario alike.
    meant : What was taken for names that fit several things, and for recipes of several runs; ``Goal`` fills
        it in.

    Raises
    ------
    InputError : an unknown option, or a value that does not fit it
    """

    workload: Annotated[str, OptionInfo(label="Network", offers="workloads", basic=True)] = "resnet50"
    epochs: _Above | None = None
    samples: Annotated[_Above | None, OptionInfo(unit="count of samples")] = None
    tokens: Annotated[
        Annotated[float, Within(gt=0, le=MOST_TOKENS, strict=True)] | None, OptionInfo(unit="count of tokens")
    ] = None
    target: str | None = None
    recipe: Literal["stock", "mlperf", "lars", "lamb", "tokens"] | None = None
    deadline: Annotated[_Above | None, OptionInfo(label="Deadline, e.g. 24h or 3d", unit="s")] = None
    budget: Annotated[_Above | None, OptionInfo(label="Budget [USD]", unit="USD")] = None
    power_limit: Annotated[_Above | None, OptionInfo(label="Power at most, e.g. 500kW", unit="W")] = None
    accelerators: Annotated[
        tuple[str, ...], OptionInfo(name="accelerator", old="accelerators", offers="accelerators")
    ] = ()
    instances: Annotated[
        tuple[str, ...],
        OptionInfo(label="Cloud offers", name="instance", old="instances", offers="instances"),
    ] = ()
    nodes: Annotated[
        tuple[str, ...], OptionInfo(label="Machines", name="node", old="nodes", offers="nodes")
    ] = ()
    max_gpus: Annotated[_GPUs, OptionInfo(label="GPUs at most")] = 512
    max_nodes: Annotated[_GPUs | None, OptionInfo(label="Machines at most")] = None
    strategies: Annotated[
        tuple[StrategyOfCopies, ...],
        OptionInfo(name="strategy", old="strategies", synonyms=SYNONYMS["strategy"]),
    ] = ()
    algorithms: Annotated[
        tuple[Algorithm, ...],
        OptionInfo(name="algorithm", old="algorithms", synonyms=SYNONYMS["algorithm"]),
    ] = ()
    precisions: Annotated[
        tuple[Precision, ...],
        OptionInfo(name="precision", old="precisions", synonyms=SYNONYMS["precision"]),
    ] = ()
    server_node: Annotated[str | None, OptionInfo(label="Machine of a parameter server", offers="nodes")] = (
        None
    )
    local_batch_sizes: Annotated[
        tuple[Samples, ...], OptionInfo(name="local-batch-size", old="local-batch-sizes")
    ] = ()
    max_global_batch: Annotated[
        Samples | None, OptionInfo(name="max-global-batch-size", old="max-global-batch")
    ] = None
    global_batch_size: Annotated[Samples | None, OptionInfo(label="Global batch size")] = None
    prices: Annotated[Mapping[str, _Above], OptionInfo(label="Price of a machine", name="price")] = fresh(
        dict
    )
    purchase_prices: Annotated[
        Mapping[str, _Above], OptionInfo(label="Purchase of a machine", name="purchase-price")
    ] = fresh(dict)
    conditions: Conditions = Conditions()
    options: Mapping[str, Any] = fresh(dict)
    meant: tuple[str, ...] = ()
