"""The format of quote files: a scenario, claims about it, and their sources."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import ValidationError

from perfmodel.core import units
from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.attachments import attached, is_request
from perfmodel.core.files.reading import read_toml
from perfmodel.core.files.resources import folder
from perfmodel.core.problem import Problem, Words
from perfmodel.core.records.arguments import FILE, expect
from perfmodel.core.records.mistakes import MOST_SAID, refused
from perfmodel.core.records.record import Within, fresh
from perfmodel.equations.algorithm import CollectiveName
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.provenance import PositiveFloat, PositiveInt, Source, Spec, Text
from perfmodel.model.options.scenario import Scenario, laid_over
from perfmodel.model.prediction.training.target import for_target
from perfmodel.model.transformers.flops import Count
from perfmodel.workloads import workload
from perfmodel.workloads.recipes.recipes import NAMES

Quantity = Literal[
    "samples_per_second",
    "tokens_per_second",
    "iteration_time",
    "epoch_time",
    "time_to_train",
    "scaling_efficiency",
    "speedup",
    "bus_bandwidth",
    "algorithm_bandwidth",
    "flops",
    "mfu",
    "cost_per_token",
    "cost_to_train",
]
Name = Literal[
    Quantity,
    "images_per_second",
    "sequences_per_second",
    "images_per_second_per_gpu",
    "tokens_per_second_per_gpu",
    "model_flops_per_gpu",
    "days_to_train",
    "cost_per_million_tokens",
    "all_reduce_bandwidth",
]
Per = Literal["job", "node", "accelerator"]


class Kind(NamedTuple):
    """Unit and words of a quantity, and whether higher is better."""

    unit: str
    words: str
    higher_is_better: bool = True


KINDS: dict[str, Kind] = {
    "samples_per_second": Kind("1/s", "throughput"),
    "tokens_per_second": Kind("1/s", "throughput"),
    "iteration_time": Kind("s", "iteration time", False),
    "epoch_time": Kind("s", "epoch time", False),
    "time_to_train": Kind("s", "time to train", False),
    "scaling_efficiency": Kind("1", "scaling efficiency"),
    "speedup": Kind("1", "speed-up"),
    "bus_bandwidth": Kind("B/s", "bus bandwidth"),
    "algorithm_bandwidth": Kind("B/s", "algorithm bandwidth"),
    "flops": Kind("FLOP/s", "arithmetic"),
    "mfu": Kind("1", "utilisation (MFU)"),
    "cost_per_token": Kind("USD", "cost per token", False),
    "cost_to_train": Kind("USD", "cost to train", False),
}


class Synonym(NamedTuple):
    """Another name of a quantity."""

    kind: str
    sample: str = ""
    """Type of sample that it requires."""
    per: Per | None = None
    """Unit (job, node, accelerator) that the rate is of."""
    unit: str = ""
    """Unit of a bare number."""
    times: float = 1.0
    """Factor by which the figure is multiplied."""


SYNONYMS = {
    "images_per_second": Synonym("samples_per_second", "image"),
    "sequences_per_second": Synonym("samples_per_second", "sequence"),
    "images_per_second_per_gpu": Synonym("samples_per_second", "image", per="accelerator"),
    "tokens_per_second_per_gpu": Synonym("tokens_per_second", per="accelerator"),
    "model_flops_per_gpu": Synonym("flops", per="accelerator"),
    "days_to_train": Synonym("time_to_train", unit="days"),
    "cost_per_million_tokens": Synonym("cost_per_token", times=1e-6),
    "all_reduce_bandwidth": Synonym("bus_bandwidth"),
}
"""Other names of quantities.  An all-reduce bandwidth is taken as bus bandwidth."""
OF_CLAIMS = frozenset(("quantity", "value", "epochs", "samples", "tokens", "price", "recipe"))
"""Keys of a claim that people write into the scenario by mistake."""
BANDWIDTHS = ("bus_bandwidth", "algorithm_bandwidth")
LENGTH = ("epochs", "samples", "tokens")
"""Keys that give the length of training."""
GOES_WITH = {
    "per": ("samples_per_second", "tokens_per_second", "flops"),
    "epochs": ("time_to_train", "cost_to_train"),
    "samples": ("time_to_train", "cost_to_train"),
    "tokens": ("time_to_train", "cost_to_train"),
    "recipe": ("time_to_train", "cost_to_train"),
    "price": ("cost_per_token", "cost_to_train"),
    "from_gpus": ("scaling_efficiency", "speedup"),
    "collective": BANDWIDTHS,
    "size": BANDWIDTHS,
    "format": ("flops",),
    "convention": ("flops", "mfu"),
}
"""The quantities that each key of a claim applies to."""


RANGES = {
    "value": (1e-12, 1e24),
    "epochs": (1e-6, 1e6),
    "samples": (1.0, 1e15),
    "tokens": (1.0, 1e18),
    "price": (1e-6, 1e9),
    "size": (1.0, 1e15),
}
"""Valid range of each number of a claim, in SI; outside it the unit is most likely wrong."""
_COUNTED = ("token", "sample", "image", "sequence")
"""Words in the unit of a rate."""


class Claim(Spec):
    """One figure of a quote."""

    quantity: Name
    """The claimed quantity."""
    value: float | str
    """A number in SI, or with its unit: ``600GB/s``, ``5PFLOP/s``, ``1h``, ``90%``."""
    text: str = ""
    """The claim in short.  The one number format named in it or in ``reading`` is that of the check; 16 or 32
    bits, or ``FP8 not used``, exclude narrower ones, as ``precision`` in the scenario does; ``dense`` or
    ``without sparsity`` excludes 2:4 sparsity."""
    per: Per = "job"
    """Whether a rate is of the job, of one node or of one accelerator; by default of the job."""
    epochs: PositiveFloat | None = None
    """Passes over the data set until trained; alternatives are ``samples`` and ``tokens``."""
    samples: PositiveFloat | None = None
    """Samples trained on in all."""
    tokens: float | str | None = None
    """Tokens trained on in all: a number, or ``1.4T``."""
    recipe: Literal[NAMES] | None = None  # type: ignore[valid-type]
    """Recipe whose target ends the training, where no length is given."""
    price: float | str | None = None
    """US dollars per hour of one node; by default the catalogue's price, where it has one."""
    from_gpus: PositiveInt = 1
    """Accelerators of the baseline of an efficiency or speed-up; by default 1."""
    collective: CollectiveName = "all-reduce"
    """Collective whose bandwidth it is; by default an all-reduce."""
    size: float | str | None = None
    """Buffer on one rank, e.g. ``1GB``; by default a large one."""
    format: str | None = None
    """Number format whose peak is claimed, e.g. ``fp8``; the scenario's workload then has no effect."""
    convention: Count | None = None
    """How the FLOP of a transformer are counted: ``causal``, those computed, without scores that a mask or
    window leaves out (NVIDIA's tables since 2025); ``megatron``, with attention to all positions
    (Megatron-LM's papers, torchtitan); ``palm``, the same with 6 FLOP for every parameter (PaLM,
    llm-foundry).  By default ``causal`` and ``palm`` are both checked, and the more favourable verdict
    counts."""
    scenario: dict[str, Any] = fresh(dict)
    """Options that differ from those of the quote."""
    source: str | None = None
    """Key of its source in the quote's ``sources``."""
    reading: str = ""
    """How the claim is to be understood, where its words are ambiguous."""

    @property
    def kind(self) -> str:
        """The quantity by its usual name, for a synonym."""
        synonym = SYNONYMS.get(self.quantity)
        return synonym.kind if synonym else self.quantity

    @property
    def whose(self) -> Per:
        """Whether a rate is of the job, a node or an accelerator, by ``per`` or by the quantity's name."""
        synonym = SYNONYMS.get(self.quantity)
        return (synonym and synonym.per) or self.per

    @property
    def number(self) -> float:
        """The value in SI."""
        synonym, value = SYNONYMS.get(self.quantity, Synonym("")), self.value
        if synonym.unit and units.is_number(value):
            value = f"{value!r} {synonym.unit}"
        return synonym.times * _number("value", value, KINDS[self.kind].unit)

    @property
    def token_count(self) -> float | None:
        """The tokens trained on; None where they are not stated."""
        return None if self.tokens is None else _number("tokens", self.tokens, "count of tokens")

    @property
    def usd_per_hour(self) -> float | None:
        """The price of an hour of one node [USD]; None where it is not stated."""
        return None if self.price is None else _number("price", self.price, "USD")

    @property
    def message_bytes(self) -> float | None:
        """The size [B]; None where it is not stated."""
        return None if self.size is None else _number("size", self.size, "B")

    def check_together(self) -> None:
        """Raise a ValueError for keys that do not apply to the quantity, and for numbers out of range."""
        for key in GOES_WITH.keys() & self.model_fields_set:
            if self.kind not in GOES_WITH[key]:
                raise ValueError(f"{key} goes with {' or '.join(GOES_WITH[key])}, not {self.quantity}")
        lengths = [name for name in (*LENGTH, "recipe") if getattr(self, name) is not None]
        if len(lengths) > 1:
            raise ValueError(f"{' and '.join(lengths)}: give one, they say the same")
        if self.convention is not None and self.format is not None:
            raise ValueError("convention and format: give one, a format's peak counts no network's FLOP")
        if self.quantity == "flops" and "per" not in self.model_fields_set:
            raise ValueError("flops needs per = 'accelerator', per = 'node' or per = 'job'")
        of_tokens = self.kind == "tokens_per_second"
        if of_tokens != ("token" in str(self.value)) and any(word in str(self.value) for word in _COUNTED):
            raise ValueError(f"value = {self.value!r}: not of {'tokens' if of_tokens else 'samples'}")
        if self.whose != self.per and "per" in self.model_fields_set:
            raise ValueError(f"per = {self.per!r}: {self.quantity} is of one {self.whose}")
        stated = {"value": self.number, "epochs": self.epochs, "samples": self.samples}
        stated |= {"tokens": self.token_count, "price": self.usd_per_hour, "size": self.message_bytes}
        for key, number in stated.items():
            low, high = RANGES[key]
            if number is not None and not low <= number <= high:
                raise ValueError(f"{key} = {getattr(self, key)!r}: expected a number {_range(low, high)}")


class Quote(Spec):
    """A vendor's offer: one scenario and the claims about it."""

    title: Text
    """The offer in one line."""
    note: str = ""
    """Text printed below the title."""
    scenario: dict[str, Any] = fresh(dict)
    """Options of ``perfmodel predict``, by the same names."""
    claims: Annotated[tuple[Claim, ...], Within(strict=False, min_length=1)]
    """The claims, each with quantity and value."""
    sources: dict[str, Source] = fresh(dict)
    """Sources of the claims, by key."""

    def check_together(self) -> None:
        """Raise a ValueError for a claim whose source the file does not list."""
        for index, claim in enumerate(self.claims, 1):
            if claim.source is not None and claim.source not in self.sources:
                known = ", ".join(self.sources) or "none"
                raise ValueError(f"claim {index}: source = {claim.source!r}: the file's sources are {known}")


def scenario_of_claim(
    quote: Quote, claim: Claim, where: str = "quote", catalogue: Catalogue | None = None
) -> Scenario:
    """Return the scenario of a claim, with the options of its recipe where it states no length.

    Raises
    ------
    InputError : an unknown option, or a value that does not fit it
    """
    try:
        options = laid_over(quote.scenario, claim.scenario)
        if misplaced := sorted(options.keys() & OF_CLAIMS):
            raise refusal("quote.key_of_claim", misplaced[0])
        scenario = Scenario(**options)
    except InputError as error:
        raise error.under("scenario").under(where) from None
    try:
        workload(scenario.workload, scenario.sequence_length, scenario.image_tokens)
        no_length = claim.kind in GOES_WITH["epochs"] and not any(getattr(claim, name) for name in LENGTH)
        return for_target(scenario, claim.recipe, catalogue) if no_length else scenario
    except InputError as error:
        raise error.under(where) from None


def quote_of(table: Mapping[str, Any]) -> Quote:
    """Return the checked ``Quote`` of a parsed TOML table.

    Raises
    ------
    InputError : an unknown key, or a value that does not fit
    """
    try:
        return Quote.model_validate(table)
    except ValidationError as error:
        raise refused_quote(error) from None


def refused_quote(error: ValidationError) -> InputError:
    """Return the error for an invalid table of a quote."""
    mistakes = refused(error, Quote, written=_written, most=MOST_SAID)
    result = InputError(*map(_with_quantities, mistakes.problems))
    result.most = mistakes.most
    return result


def _with_quantities(problem: Problem) -> Problem:
    """Return a problem, of an unknown quantity with those nearest by meaning and where all are listed."""
    if problem.code != "name.unknown" or not problem.fields or problem.fields[0][-1] != "quantity":
        return problem
    meant = meant_quantities(str(problem.values["name"]))
    near = tuple(sorted(meant, key=lambda each: each not in problem.near)) or problem.near
    known = f"nearest: {', '.join(near)}" if near else f"known: {', '.join(get_args(Name))}"
    right = Words(f"{known}; docs/quote-format.md has all")
    return replace(problem, values={**problem.values, "right": right}, near=near)


def meant_quantities(name: str) -> list[str]:
    """Return the quantities that share most words with a name; [] where none shares any.

    >>> meant_quantities("throughput_tokens"), meant_quantities("price_to_train")
    (['tokens_per_second', 'tokens_per_second_per_gpu'], ['time_to_train', 'cost_to_train', 'days_to_train'])
    """
    given = set(re.findall("[a-z]+", name.lower())) - {"per", "of", "to"}
    shared = {}
    for each in get_args(Name):
        synonym = SYNONYMS.get(each)
        words = f"{each.replace('_', ' ')} {KINDS[synonym.kind if synonym else each].words}"
        shared[each] = len(given.intersection(words.lower().split()))
    most = max(shared.values())
    return [each for each, count in shared.items() if count == most][:4] if most else []


def read_quote(path: Path | str) -> tuple[Quote, str]:
    """Return the quote of a TOML file, or of an example by its name, and the name for error messages.

    Raises
    ------
    InputError : a file that cannot be read, an unknown key, a value that does not fit; file and key are named
    """
    expect(FILE, path=path)
    path = _find(Path(path))
    name = str(path) if path.parent != _examples() else path.name
    table = read_toml(path)
    try:
        quote = quote_of(table)
    except InputError as error:
        raise error.under(name) from None
    for index, claim in enumerate(quote.claims, 1):
        scenario_of_claim(quote, claim, f"{name}: claim {index}")
    return quote, name


def example_names() -> list[str]:
    """Return the names of the quotes that come with the package."""
    return sorted(path.stem for path in _examples().glob("*.toml"))


def _examples() -> Path:
    """Return the folder of the built-in quotes."""
    return folder("validation") / "quotes"


def _find(path: Path) -> Path:
    """Return the path of a file or of an example; an InputError for an unknown name."""
    if path.suffix != ".toml" and path.parent == Path() and (is_request() or not path.exists()):
        if path.name in example_names():
            return _examples() / f"{path.name}.toml"
        raise unknown_name("quote (neither a file nor an example)", path.name, example_names())
    attached(path)  # a request has no other files
    return path


def _number(key: str, value: float | str, unit: str) -> float:
    """Return the value of a key in SI; a fraction may be in per cent."""
    try:
        return units.parse(value, unit)
    except InputError as error:
        one = error.problems[0].under((key,))
        raise InputError(replace(one, before=f"{key} = ")) from None


def _written(place: Sequence[str]) -> str:
    """Return the key path of an error as text; claims are counted from 1."""
    if len(place) > 1 and place[0] == "claims":
        place = [f"claim {int(place[1]) + 1}", *place[2:]]
    return ": ".join(part for part in (*place[:1], ".".join(place[1:])) if part)


def _range(low: float, high: float) -> str:
    """Return a range of valid numbers in words."""
    return (
        f"from {low:g} to {high:g}, in SI units" if low >= 1 else f"above 0 and up to {high:g}, in SI units"
    )
