"""``compare``: predictions side by side."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

from perfmodel.core.choices import Recipe
from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.reading import read_toml
from perfmodel.core.records.names import NONE
from perfmodel.core.records.options import Described, OptionInfo, declared
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import forms_of
from perfmodel.interfaces.jobs import all_conditions, changed_by, parts_of, with_own
from perfmodel.interfaces.report import report
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.risk import Risk
from perfmodel.model.options.scenario import Scenario, laid_over, options_of, scenario_of

if TYPE_CHECKING:
    from perfmodel.decide.comparison import Case, Comparison
    from perfmodel.interfaces.client.files import Files

    Job: TypeAlias = Scenario | Mapping[str, Any] | Case
else:

    class Job:
        """A scenario, its options by name, its own conditions too, or a predicted case."""

        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
            """Accept any of them; JSON has only tables."""
            from pydantic_core import core_schema

            table = core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
            given = core_schema.no_info_plain_validator_function(_job)
            return core_schema.json_or_python_schema(table, given)


class Saved(NamedTuple):
    """A prediction saved in a file."""

    file: str


MOST_CASES = 64
"""Most combinations of several values."""


def _job(given: Any) -> Any:
    """Return a job as given: a case, a scenario, or options."""
    from perfmodel.decide.comparison import Case

    return given if isinstance(given, Case | Scenario | Saved) else options_of(given)


def _sent(jobs: Sequence[Any], files: "Files") -> list[Any]:
    """Return jobs as the client sends them."""
    if not all(isinstance(each, Scenario | Mapping) for each in jobs):
        raise refusal("client.case")
    parts = [parts_of(each) for each in jobs]
    given = [scenario_of(job).model_dump(mode="json", exclude_unset=True) for job, _ in parts]
    return [files.of_scenario(each) | own for each, (_, own) in zip(given, parts, strict=True)]


class CompareRequest(Described):
    """Jobs to compare with the first.

    Parameters
    ----------
    scenarios : Two or more jobs, each a table of a scenario's options, and of conditions of its own, e.g.
        pricing.
    names : Names of the scenarios.  [default: A, B, C]
    conditions : Prices, power and failures; money, energy and carbon are compared in any case.
    time_to_target : Also times and costs of training to a published quality.
    recipe : Recipe of that training; implies it.  [default: the usual one of each framework]
    confidence : [1] How sure to be that a recommended case fits, and that it is faster, or at another price
        cheaper, e.g. 0.5, 0.8 or 0.95: one with more risk is not recommended.
    """

    scenarios: Annotated[tuple[Job, ...], Within(strict=False, min_length=2), OptionInfo(sent=_sent)]
    names: Annotated[tuple[str, ...], Within(strict=False)] | None = None
    conditions: Annotated[Conditions | None, OptionInfo(flag="cost")] = None
    time_to_target: Annotated[bool, OptionInfo(denied=False)] = False
    recipe: Recipe | None = None
    confidence: float = same_as(Risk)


class Typed(Scenario, heading="What to compare"):
    """The request in a shell: options override every file.

    Parameters
    ----------
    files : TOML files of scenarios.
    changes : A variant of the scenario with these options; KEY=default resets one.
    names : Name of a case: once for each case, in order.  [default: its changes]
    saved : Output of predict --json to compare with.
    scenario : TOML file with any of these options.
    """

    files: Annotated[tuple[str, ...], OptionInfo(form="[SCENARIO.toml ...]")] = ()
    changes: Annotated[
        tuple[str, ...], OptionInfo(name="set", read=str, form="KEY=VALUE,...", commas=True)
    ] = ()
    names: Annotated[tuple[str, ...], OptionInfo(name="name", read=str, form="NAME", commas=True)] = ()
    saved: Annotated[str | None, OptionInfo(name="compare-to", file=True)] = None
    scenario: Annotated[str | None, OptionInfo(file=True)] = None
    time_to_target: bool = same_as(CompareRequest)
    recipe: Recipe | None = same_as(CompareRequest)
    confidence: float = same_as(CompareRequest)
    conditions: Conditions | None = same_as(CompareRequest)

    def request(self) -> CompareRequest:
        """Return the request; the first job is the saved prediction, or the first scenario."""
        jobs = self._jobs()
        if self.names and len(self.names) != len(jobs):
            raise refusal("compare.name", count=len(self.names), scenarios=len(jobs))
        return CompareRequest.model_construct(
            scenarios=tuple(job for _, job in jobs),
            names=self.names or tuple(name for name, _ in jobs),
            conditions=self._shared(),
            time_to_target=self.time_to_target,
            recipe=self.recipe,
            confidence=self.confidence,
        )

    def _jobs(self) -> list[tuple[str, Any]]:
        """Return the jobs with their names."""
        files, changes, several = self.files, self.changes, self._several()
        if files and self.scenario is not None:
            raise refusal("compare.scenario_twice")
        if changes and len(files) > 1:
            raise refusal("compare.set_of_one")
        if several and len(files) > 1:
            first = next(iter(several))
            name = declared(Scenario)[first].name if first in Scenario.model_fields else first
            raise refusal("compare.several_of_one", option=f"--{name}")
        names = {file: Path(file).stem for file in files}
        if len(set(names.values())) < len(files):
            names = {file: file for file in files}
        if len(names) < len(files):
            twice = refusal("compare.file_twice").under(files[0])
            raise twice if len(files) == 2 else refusal("compare.given_twice")
        result = {name: self._of_file(file) for file, name in names.items() if not several}
        if several:
            result = self._crossed(several, *files)
        elif not files:
            result["now" if self.saved is not None else "base"] = self._of_file(self.scenario)
        base = next(iter(result.values()))
        for each in changes:
            if each in result:
                raise refusal("compare.set_twice", text=each)
            result[each] = changed_by(base, each)
        saved = [] if self.saved is None else [(Path(self.saved).name, Saved(self.saved))]
        if len(result) + len(saved) < 2:
            raise refusal("compare.nothing")
        return [*saved, *result.items()]

    def _shared(self) -> Conditions | None:
        """Return the conditions of all; of several kinds of price, a given price is of the first rent."""
        kinds, shared = self._kinds(), self.conditions
        if shared is None or not isinstance(kinds, tuple):
            return shared
        first = next(kind for kind in kinds if kind != "owned")
        return shared.model_copy(update={"pricing": first})

    def _kinds(self) -> Any:
        """Return the kind of price, or a tuple of several."""
        return None if self.conditions is None else self.conditions.pricing

    def _several(self) -> dict[str, tuple[Any, ...]]:
        """Return the options of which several values were given."""
        given = {name: self.__dict__[name] for name in Scenario.model_fields if name in self.model_fields_set}
        given["pricing"] = self._kinds()
        return {name: values for name, values in given.items() if isinstance(values, tuple)}

    def _crossed(self, several: Mapping[str, tuple[Any, ...]], file: str | None = None) -> dict[str, Any]:
        """Return a job for every combination of several values, named by them."""
        from perfmodel.decide.comparison.option_words import words_of_values

        if (count := prod(map(len, several.values()))) > MOST_CASES:
            raise refusal("compare.too_many", count=count, most=MOST_CASES)
        called = {option: words_of_values(option, values) for option, values in several.items()}
        result = {}
        for values in product(*several.values()):
            chosen = dict(zip(several, values, strict=True))
            kind = chosen.pop("pricing", None)
            first, *rest = [called[option][value] for option, value in chosen.items()] or [""]
            name = f"{first} with {', '.join(rest)}" if rest else first
            if kind is not None:
                price = called["pricing"][kind]
                name = f"{name} ({price})" if name else price
            own = {} if kind is None else {"pricing": kind}
            result[name] = with_own(self._of_file(file or self.scenario, chosen), own)
        return result

    def _of_file(self, file: str | None, chosen: Mapping[str, Any] = NONE) -> Scenario:
        """Return the options, with those of one combination, laid over those of a file."""
        given = self.model_fields_set & Scenario.model_fields.keys()
        options = {**{name: self.__dict__[name] for name in given}, **chosen}
        written = {} if file is None else read_toml(file)
        if not written:
            return Scenario.model_construct(**options)
        try:
            return Scenario(**laid_over(written, options))
        except InputError as error:
            raise error.under(str(file)) from None


def run(request: CompareRequest, context: Context) -> "Comparison":
    """Predict several scenarios and compare each with the first.

    A ``Case`` is already predicted, with its own name and costs.

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
    from perfmodel.core.candidates import tries
    from perfmodel.decide.comparison import Case, case_of, compare, saved_case

    jobs, conditions = request.scenarios, request.conditions
    if request.names is not None and len(request.names) != len(jobs):
        raise refusal("compare.names", "names", count=len(request.names), scenarios=len(jobs))
    tries(len(jobs))
    names = [_letter(index) for index in range(len(jobs))] if request.names is None else request.names
    parts = [parts_of(job) for job in jobs]
    under = all_conditions([own for _, own in parts], conditions)
    cases = []
    for (job, _), name in zip(parts, names, strict=True):
        if isinstance(job, Saved):
            job = saved_case(Path(job.file), context.catalogue, conditions)
        more: Any = {"target": request.time_to_target, "recipe": request.recipe}
        try:
            at = next(under)
            if isinstance(job, Case):
                cases.append(job if request.names is None else job._replace(name=name))
                continue
            cases.append(case_of(name, scenario_of(job), context.catalogue, at, **more))
        except InputError as error:
            named = error if error.inside[:1] == (name,) else error.under(name)
            if not cases and _is_of_every(error, [job for job, _ in parts], context):
                named.inside = named.inside[1:]
            raise named from None
    return compare(cases, request.confidence)


def _is_of_every(error: InputError, jobs: "Sequence[Job | Saved]", context: Context) -> bool:
    """Return whether the options of every job are refused for one reason, which is then no job's own."""
    from perfmodel.decide.comparison import Case
    from perfmodel.model.setting.resolve import resolve

    for job in jobs:
        if isinstance(job, Case | Saved):
            return False
        try:
            resolve(scenario_of(job), context.catalogue)
        except InputError as other:
            if _reasons(other) != _reasons(error):
                return False
        else:
            return False
    return True


def _reasons(error: InputError) -> list[tuple[str, Any]]:
    return [(problem.code, problem.values) for problem in error.problems]


def _letter(index: int) -> str:
    """Return the default name of a case by its position: A to Z, then numbers."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def text(result: "Comparison", request: object) -> None:
    """Print the card, the inputs that differ, a row for each quantity, defaults and notes."""
    from perfmodel.interfaces.cli.comparison_render import print_comparison

    print_comparison(result)


def _markdown(result: "Comparison", _: object) -> str:
    """Return card, changed options, quantities, defaults and notes as Markdown."""
    from perfmodel.interfaces.cli.comparison_render import comparison_markdown

    return comparison_markdown(result)


def _page(answer: "Comparison", request: CompareRequest, context: Context) -> Any:
    """Return the page of a comparison."""
    from perfmodel.interfaces.reports.compared import page_of_comparison

    own = [parts_of(job)[1] for job in request.scenarios]
    conditions = [each or Conditions() for each in all_conditions(own, request.conditions)]
    return page_of_comparison(answer, context.typed, context.catalogue, conditions)


COMMAND = Command(
    name="compare",
    summary="Compare predictions: what changed, by how much, and which is faster or cheaper.",
    about="""Several values of an option, joined by commas, are cases; of more such options, all combinations.
The others are compared with the first: the saved prediction, or the first scenario.
Options override every file; without a file they are the scenario that --set varies.""",
    request=CompareRequest,
    typed=Typed,
    answers=("perfmodel.decide.comparison:Comparison",),
    run=run,
    text=text,
    forms=forms_of(markdown=_markdown),
    writes={"report": report(_page)},
    arguments=("files",),
    positional=("*scenarios",),
    each_a_case=True,
    examples=(
        "perfmodel compare --node dgx-1v,dgx-a100-80gb --gpus 16",
        "perfmodel compare --gpus 32 --inter-link ethernet-25g-tcp,ethernet-100g-tcp,ethernet-100g-rdma",
        "perfmodel compare --gpus 32 --set algorithm=tree --set inter_link=ethernet-100g-tcp",
        "perfmodel compare --node aws-p3.16xlarge --gpus 16 --set node=aws-p4d.24xlarge",
        "perfmodel compare a.toml b.toml",
        "perfmodel compare --gpus 32 --time-to-target --set framework=mxnet-ngc",
        "perfmodel compare --compare-to saved.json --gpus 64",
        "perfmodel compare --gpus 32 --set inter_link=ethernet-100g-tcp --report network.html",
        "perfmodel compare --gpus 8 --set gpus=16 --name now --name twice",
        "perfmodel compare --node aws-p4d.24xlarge --gpus 64 --epochs 90 --pricing spot,reserved-1y",
        "perfmodel compare --node aws-p5.48xlarge --gpus 64 --set pricing=spot --confidence 95%",
    ),
    bodies={"twice the GPUs": {"scenarios": [{"gpus": 8}, {"gpus": 16}], "names": ["eight", "sixteen"]}},
)
