"""The options that make up a scenario, shared by every command that predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, get_args

import click
from pydantic import ValidationError

from perfmodel.errors import InputError
from perfmodel.reading import read_toml
from perfmodel.specs.names import NONE, word_of
from perfmodel.specs.scenario import (
    LARGEST_BATCH_SIZE,
    LARGEST_DATA_SET,
    LARGEST_RATE,
    LARGEST_SAMPLE,
    LARGEST_WORLD_SIZE,
    SYNONYMS,
    Algorithm,
    Input,
    Optimizer,
    Overlap,
    Placement,
    Precision,
    Scenario,
    ServerShards,
    Strategy,
    by_field,
)
from perfmodel.specs.store import Catalogue
from perfmodel.units import parse

_Command = TypeVar("_Command", bound=Callable[..., Any])


MOST_DIGITS = 12
"""Of a whole number; Python itself refuses to read some thousands."""


class _Count(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A whole number of things."""

    name = "integer"

    def __init__(self, largest: int = LARGEST_WORLD_SIZE) -> None:
        self.largest = largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value)
        if len(text) > MOST_DIGITS or not text.isdecimal() or not 1 <= int(text) <= self.largest:
            self.fail(f"{text!r} is not a whole number from 1 to {self.largest:,}", param, ctx)
        return int(text)


class _Quantity(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A number above zero, in SI units or with a unit of its own."""

    name = "quantity"

    def __init__(self, unit: str, largest: float) -> None:
        self.unit, self.largest = unit, largest

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = parse(value, self.unit)
        except InputError as error:
            self.fail(str(error), param, ctx)
        if not 0 < number <= self.largest:
            self.fail(f"{str(value)!r} is not above 0 and at most {self.largest:g}", param, ctx)
        return number


COUNT = _Count()
SAMPLES = _Count(LARGEST_BATCH_SIZE)


class Word(click.Choice):  # type: ignore[type-arg,unused-ignore]
    """One of a few words, in any case and with any hyphens, or a synonym of one."""

    def __init__(self, words: Iterable[str], synonyms: Mapping[str, str] = NONE) -> None:
        super().__init__(tuple(words))
        self.synonyms = synonyms

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word that is meant."""
        return super().convert(word_of(str(value), self.choices, self.synonyms), param, ctx)


def _word(field: str, literal: Any) -> Word:
    return Word(get_args(literal), SYNONYMS.get(field, NONE))


STRATEGY, ALGORITHM = _word("strategy", Strategy), _word("algorithm", Algorithm)
PRECISION, OPTIMIZER, INPUT = (
    _word("precision", Precision),
    _word("optimizer", Optimizer),
    _word("input", Input),
)

DATA_OPTIONS = (
    click.option(
        "--dataset", help="Trained on: imagenet, cifar10, coco, wikipedia, ...  [default: the network's own]"
    ),
    click.option("--dataset-samples", type=_Count(LARGEST_DATA_SET), help="Of a training set of your own."),
    click.option(
        "--sample-bytes", type=_Quantity("B", LARGEST_SAMPLE), help="Of a stored sample, e.g. 115kB."
    ),
    click.option(
        "--decode-rate", type=_Quantity("1/s", LARGEST_RATE), help="Samples/s one loader worker decodes."
    ),
)
"""What the samples are."""

_SCENARIO_OPTIONS = (
    click.option("--workload", help="Network, or a file: .onnx, .csv, config.json.  [default: resnet50]"),
    click.option("--accelerator", help="Accelerator, e.g. k80, v100-sxm2-16gb, h100-sxm5-80gb."),
    click.option("--node", help="Machine, e.g. dgx-1v."),
    click.option(
        "--accelerators-per-node", type=COUNT, help="Accelerators of a node that take part.  [default: all]"
    ),
    click.option("--intra-link", help="Link between accelerators of a node."),
    click.option("--inter-link", help="Link between nodes, e.g. ethernet-25g-tcp."),
    click.option("--nics", type=COUNT, help="Network adapters per node."),
    click.option(
        "--connections",
        type=COUNT,
        help="TCP connections between two nodes, where a provider limits each; 1 in most containers.  "
        "[default: NCCL's 16, 1 for parameter servers]",
    ),
    click.option(
        "--strategy",
        type=STRATEGY,
        help="How gradients are combined; ddp, dp, horovod, ps are understood.  [default: all-reduce]",
    ),
    click.option("--oversubscription", type=float, help="Of the racks' uplinks, e.g. 4.  [default: 1]"),
    click.option("--rack-nodes", type=COUNT, help="Nodes under one switch, with --oversubscription."),
    click.option(
        "--placement", type=_word("placement", Placement), help="On the racks.  [default: contiguous]"
    ),
    click.option("--servers", type=COUNT, help="Parameter servers, on machines of their own."),
    click.option(
        "--server-shards",
        type=_word("server_shards", ServerShards),
        help="How gradients are dealt out to servers.  [default: as the framework does]",
    ),
    click.option("--server-node", help="Machine of a parameter server.  [default: as --node]"),
    click.option(
        "--local-aggregation/--no-local-aggregation",
        default=None,
        help="Whether a node sums its gradients before a parameter server sees them.  [default: it does]",
    ),
    click.option(
        "--algorithm",
        type=ALGORITHM,
        help="All-reduce algorithm; auto is what NCCL chooses.  [default: auto]",
    ),
    click.option(
        "--overlap", type=_word("overlap", Overlap), help="How gradients travel during the backward pass."
    ),
    click.option("--precision", type=PRECISION, help="Arithmetic of training."),
    click.option("--local-batch-size", type=SAMPLES, help="Samples per accelerator: weak scaling."),
    click.option("--global-batch-size", type=SAMPLES, help="Samples per iteration: strong scaling."),
    click.option("--accumulation-steps", type=COUNT, help="Micro-batches per iteration.  [default: 1]"),
    click.option("--sequence-length", type=COUNT, help="Tokens of one sample."),
    click.option("--optimizer", type=OPTIMIZER, help="Optimizer."),
    click.option(
        "--framework",
        help="Software, with its year, or the accelerator's: tensorflow-xla@2020.  [default: pytorch]",
    ),
    click.option("--input", type=INPUT, help="Where samples come from.  [default: synthetic]"),
    click.option("--loader-workers", type=COUNT, help="Decoding workers per node."),
    click.option("--storage", help="Where samples lie: local-ssd, ebs-gp2, ebs-gp3, s3, ram."),
    *DATA_OPTIONS,
    click.option("--jitter", help="Spread of a worker's time: lognormal:cv=0.05, empirical:FILE, none."),
    click.option(
        "--anchor",
        help="Measured with that share of the batch on one GPU, iteration_time=0.145s@1, or one machine, @8.",
    ),
    click.option("--profile", metavar="FILE", help="Your own measurement, from perfmodel calibrate --trace."),
    click.option("--scenario", "scenario_file", metavar="FILE", help="TOML file with any of these options."),
    click.option(
        "--specs", "specs", multiple=True, metavar="DIR", help="Your own hardware specs, over the built-in."
    ),
)


def data_options(command: _Command) -> _Command:
    """Give a command the options that say what the samples are."""
    for option in reversed(DATA_OPTIONS):
        command = option(command)
    return command


def scenario_options(command: _Command) -> _Command:
    """Give a command every option of a scenario but ``--gpus``."""
    for option in reversed(_SCENARIO_OPTIONS):
        command = option(command)
    return command


def scenario_from(options: dict[str, Any]) -> Scenario:
    """Return the scenario of a file, if one is given, with the options laid over it.

    Raises
    ------
    InputError : a file that cannot be read, an unknown key, a value that does not fit
    """
    options = {key: value for key, value in options.items() if value is not None}
    file = options.pop("scenario_file", None)
    options.pop("specs", None)
    written = read_toml(file) if file is not None else {}
    where = f"{file}: " if file is not None else ""
    table = _by_field(written, where)
    if "global_batch_size" in options:
        table.pop("local_batch_size", None)
    if "local_batch_size" in options:
        table.pop("global_batch_size", None)
    if not table:
        return Scenario.model_construct(**options)  # the options above have checked each value
    try:
        return Scenario.model_validate(table | options)
    except ValidationError as error:
        from perfmodel.specs.scenario_table import mistake

        raise InputError(f"{where}{mistake(error, written)}") from None


def _by_field(written: dict[str, Any], where: str) -> dict[str, Any]:
    if not written:
        return {}
    try:
        return by_field(written)
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def catalogue_from(specs: tuple[str, ...]) -> Catalogue:
    """Return the built-in hardware with a user's folders laid over it."""
    return Catalogue(specs) if specs else Catalogue.built_in()
