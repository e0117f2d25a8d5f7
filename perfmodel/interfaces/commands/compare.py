"""``compare``: predictions side by side."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

from perfmodel.core.choices import Recipe
from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.files.reading import read_toml
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import forms_of
from perfmodel.interfaces.report import report
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import OPTIONS, Scenario, field_of, laid_over, options_of, scenario_of

if TYPE_CHECKING:
    from rich.console import Console

    from perfmodel.decide.comparison import Case, Comparison
    from perfmodel.interfaces.client.files import Files

    Job: TypeAlias = Scenario | Mapping[str, Any] | Case
else:

    class Job:
        """A scenario, its options by name, or a predicted case."""

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


LEFT_OUT = "default"
"""Value that resets an option of a variant to its default."""
_NEXT_KEY = re.compile(r",(?=([A-Za-z_-]+)=)")


def _job(given: Any) -> Any:
    """Return a job as given: a case, a scenario, or options."""
    from perfmodel.decide.comparison import Case

    return given if isinstance(given, Case | Scenario | Saved) else options_of(given)


def _sent(jobs: Sequence[Any], files: "Files") -> list[Any]:
    """Return jobs as the client sends them."""
    if not all(isinstance(each, Scenario | Mapping) for each in jobs):
        raise refusal("client.case")
    given = [scenario_of(each).model_dump(mode="json", exclude_unset=True) for each in jobs]
    return [files.of_scenario(each) for each in given]


class CompareRequest(Described):
    """Jobs to compare with the first.

    Parameters
    ----------
    scenarios : Two or more jobs, each a table of a scenario's options.
    names : Names of the scenarios.  [default: A, B, C]
    conditions : Prices, power and failures; money, energy and carbon are compared in any case.
    time_to_target : Also times and costs of training to a published quality.
    recipe : Recipe of that training; implies it.  [default: the usual one of each framework]
    """

    scenarios: Annotated[tuple[Job, ...], Within(strict=False, min_length=2), OptionInfo(sent=_sent)]
    names: Annotated[tuple[str, ...], Within(strict=False)] | None = None
    conditions: Annotated[Conditions | None, OptionInfo(flag="cost")] = None
    time_to_target: Annotated[bool, OptionInfo(denied=False)] = False
    recipe: Recipe | None = None


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
    conditions: Conditions | None = same_as(CompareRequest)

    def request(self) -> CompareRequest:
        """Return the request; the first job is the saved prediction, or the first scenario."""
        jobs = self._jobs()
        if self.names and len(self.names) != len(jobs):
            raise refusal("compare.name", count=len(self.names), scenarios=len(jobs))
        return CompareRequest.model_construct(
            scenarios=tuple(job for _, job in jobs),
            names=self.names or tuple(name for name, _ in jobs),
            conditions=self.conditions,
            time_to_target=self.time_to_target,
            recipe=self.recipe,
        )

    def _jobs(self) -> list[tuple[str, Any]]:
        """Return the jobs with their names."""
        files, changes = self.files, self.changes
        if files and self.scenario is not None:
            raise refusal("compare.scenario_twice")
        if changes and len(files) > 1:
            raise refusal("compare.set_of_one")
        names = {file: Path(file).stem for file in files}
        if len(set(names.values())) < len(files):
            names = {file: file for file in files}
        if len(names) < len(files):
            twice = refusal("compare.file_twice").under(files[0])
            raise twice if len(files) == 2 else refusal("compare.given_twice")
        result = {name: self._of_file(file) for file, name in names.items()}
        if not files:
            result["now" if self.saved is not None else "base"] = self._of_file(self.scenario)
        base = next(iter(result.values()))
        for each in changes:
            if each in result:
                raise refusal("compare.set_twice", text=each)
            result[each] = _changed(base, each)
        saved = [] if self.saved is None else [(Path(self.saved).name, Saved(self.saved))]
        if len(result) + len(saved) < 2:
            raise refusal("compare.nothing")
        return [*saved, *result.items()]

    def _of_file(self, file: str | None) -> Scenario:
        """Return the options laid over those of a file."""
        written = {} if file is None else read_toml(file)
        if not written:
            return self.alone()
        try:
            return Scenario(**laid_over(written, self.alone().model_dump(exclude_unset=True)))
        except InputError as error:
            raise error.under(str(file)) from None


def _changed(base: Scenario, text: str) -> Scenario:
    """Return the scenario with the options of one ``--set``."""
    try:
        options = laid_over(base.model_dump(exclude_unset=True), _options_of(text))
        return Scenario(**{key: value for key, value in options.items() if value != LEFT_OUT})
    except InputError as error:
        raise error.under("set", said=f"--set {text}") from None


def _options_of(text: str) -> dict[str, Any]:
    """Return ``gpus=64,precision=bf16`` as a table; a comma that no option follows belongs to the value."""
    pieces: list[str] = []
    last = 0
    for comma in _NEXT_KEY.finditer(text):
        if field_of(comma[1]) in Scenario.model_fields:
            pieces.append(text[last : comma.start()])
            last = comma.end()
    pieces.append(text[last:])
    table: dict[str, Any] = {}
    for piece in pieces:
        key, equals, value = piece.partition("=")
        if not (equals and value.strip()):
            raise refusal("compare.set_malformed")
        key = key.strip()
        if field_of(key) not in Scenario.model_fields:
            raise unknown_name("option", key, OPTIONS)
        if key in table:
            raise refusal("compare.key_twice", key=key, piece=piece)
        table[key] = _value(value.strip())
    return table


def _value(text: str) -> Any:
    """Return a text as a number or truth value if it is one."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (int, float)) else text.strip("\"'")


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
    >>> comparison.verdict.startswith("sixteen is 1.9")
    True
    """
    from perfmodel.core.candidates import tries
    from perfmodel.decide.comparison import Case, case_of, compare, saved_case

    jobs, conditions = request.scenarios, request.conditions
    if request.names is not None and len(request.names) != len(jobs):
        raise refusal("compare.names", "names", count=len(request.names), scenarios=len(jobs))
    tries(len(jobs))
    cases = []
    for index, job in enumerate(jobs):
        name = _letter(index) if request.names is None else request.names[index]
        if isinstance(job, Saved):
            job = saved_case(Path(job.file), context.catalogue, conditions)
        if isinstance(job, Case):
            cases.append(job if request.names is None else job._replace(name=name))
            continue
        more: Any = {"target": request.time_to_target, "recipe": request.recipe}
        try:
            cases.append(case_of(name, scenario_of(job), context.catalogue, conditions, **more))
        except InputError as error:
            raise (error if error.inside[:1] == (name,) else error.under(name)) from None
    return compare(cases)


def _letter(index: int) -> str:
    """Return the default name of a case by its position: A to Z, then numbers."""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def text(result: "Comparison", request: object) -> None:
    """Print the verdict, the inputs that differ and a row for each quantity."""
    from rich.text import Text

    from perfmodel.decide.comparison.comparison_words import (
        label,
        shown,
        shown_difference,
        shown_input,
        shown_percent,
    )
    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(result.verdict), style="bold")
    out.print()
    letters = [chr(ord("A") + index) if index < 26 else str(index) for index in range(len(result.names))]
    for letter, name in zip(letters, result.names, strict=True):
        out.print(Text(f"{letter}  {name}"))
    for chosen in _parts(len(letters), 3):
        if result.inputs:
            inputs = table("what changed", *(letters[i] for i in chosen))
            for entry in result.inputs:
                inputs.add_row(entry.option, *(shown_input(entry.values[i]) for i in chosen))
            out.print(inputs)
    if len(letters) == 2:
        rows = table("", "A", "B", "B - A", "%")
        for row in result.rows:
            values = (shown(value, row.unit) for value in row.values)
            rows.add_row(label(row), *values, shown_difference(row, 1), shown_percent(row.relative[1]))
        out.print(rows)
    else:
        _print_several(result, letters, out)
    for note in result.notes:
        out.print(Text(f"note: {note}"))


def _parts(count: int, most: int) -> list[range]:
    """Return the columns in groups narrow enough to print."""
    return [range(first, min(first + most, count)) for first in range(0, count, most)]


def _print_several(result: "Comparison", letters: list[str], out: "Console") -> None:
    """Print the values of all cases, then the differences from the first."""
    from perfmodel.decide.comparison.comparison_words import label, shown, shown_difference, shown_percent
    from perfmodel.interfaces.cli.render import table

    for chosen in _parts(len(letters), 5):
        rows = table("", *(letters[i] for i in chosen))
        for row in result.rows:
            rows.add_row(label(row), *(shown(row.values[i], row.unit) for i in chosen))
        out.print(rows)
    for chosen in _parts(len(letters) - 1, 2):
        rows = table("against A", *(head for i in chosen for head in (f"{letters[i + 1]} - A", "%")))
        for row in result.rows:
            if any(row.differences[1:]):
                cells = ((shown_difference(row, i + 1), shown_percent(row.relative[i + 1])) for i in chosen)
                rows.add_row(label(row), *(cell for pair in cells for cell in pair))
        out.print(rows)


def _markdown(result: "Comparison", _: object) -> str:
    """Return verdict, changed options, quantities and notes as Markdown."""
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.decide.comparison.comparison_words import label, shown, shown_input, shown_percent

    rows = []
    for row in result.rows:
        cells = {"": label(row).strip()}
        cells |= {name: shown(value, row.unit) for name, value in zip(result.names, row.values, strict=True)}
        cells |= {
            f"{name}, change": shown_percent(relative)
            for name, relative in zip(result.names[1:], row.relative[1:], strict=True)
        }
        rows.append(cells)
    parts = [f"**{result.verdict}**"]
    if result.inputs:
        parts.append(
            markdown_table(
                {
                    "what changed": entry.option,
                    **dict(zip(result.names, map(shown_input, entry.values), strict=True)),
                }
                for entry in result.inputs
            ).rstrip()
        )
    parts.append(markdown_table(rows).rstrip())
    return "\n\n".join([*parts, *(f"Note: {note}." for note in result.notes)])


def _page(answer: "Comparison", request: CompareRequest, context: Context) -> Any:
    """Return the page of a comparison."""
    from perfmodel.interfaces.reports.compared import page_of_comparison

    conditions = request.conditions or Conditions()
    return page_of_comparison(answer, context.typed, context.catalogue, conditions)


COMMAND = Command(
    name="compare",
    summary="Compare predictions: what changed, by how much, and which is faster or cheaper.",
    about="""The others are compared with the first: the saved prediction, or the first scenario.
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
    examples=(
        "perfmodel compare --gpus 32 --set algorithm=tree --set inter_link=ethernet-100g-tcp",
        "perfmodel compare --node aws-p3.16xlarge --gpus 16 --set node=aws-p4d.24xlarge",
        "perfmodel compare a.toml b.toml",
        "perfmodel compare --gpus 32 --time-to-target --set framework=mxnet-ngc",
        "perfmodel compare --compare-to saved.json --gpus 64",
        "perfmodel compare --gpus 32 --set inter_link=ethernet-100g-tcp --report network.html",
        "perfmodel compare --gpus 8 --set gpus=16 --name now --name twice",
    ),
    bodies={"twice the GPUs": {"scenarios": [{"gpus": 8}, {"gpus": 16}], "names": ["eight", "sixteen"]}},
)
