"""Many predictions in one request, as a list or as columns; an invalid row is answered by its error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from perfmodel.interfaces.service.problems import Mistake, Refused, problem_of, shown

MOST_ROWS = 10_000
KEYS = ("scenarios", "columns")
COMMON = ("specs", "files", "fields")
"""Keys that apply to all rows of a batch."""


def is_batch(table: Mapping[str, Any]) -> bool:
    """Return whether a body of ``predict`` is a batch."""
    return any(key in table for key in KEYS)


def rows_of(table: Mapping[str, Any]) -> list[Any]:
    """Return the rows of a batch, each like the body of a single request.

    Raises
    ------
    Refused : an invalid batch, too many rows, or columns of different lengths
    """
    for key in table:
        if key not in (*KEYS, *COMMON):
            words = f"unknown option {key!r} next to scenarios or columns; put it into each of them"
            raise Refused(
                words, [Mistake(str(key), shown(table[key]), f"expected {', '.join((*KEYS, *COMMON))}")]
            )
    if all(key in table for key in KEYS):
        raise Refused(
            "scenarios and columns: give one of them",
            [Mistake("columns", shown(table["columns"]), "give one")],
        )
    rows = _listed(table["scenarios"]) if "scenarios" in table else list(_of_columns(table["columns"]))
    if not 1 <= len(rows) <= MOST_ROWS:
        words = f"{len(rows):,} rows; expected 1 to {MOST_ROWS:,}"
        raise Refused(words, [Mistake(next(key for key in KEYS if key in table), len(rows), words)])
    return rows


def _listed(value: Any) -> list[Any]:
    """Return a list; anything else is refused."""
    if not isinstance(value, list):
        raise Refused("scenarios: expected a list", [Mistake("scenarios", shown(value), "expected a list")])
    return value


def _of_columns(columns: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table of columns; null leaves an option open."""
    if (
        not isinstance(columns, Mapping)
        or not columns
        or not all(isinstance(c, list) for c in columns.values())
    ):
        words = "columns: expected a table of lists by the names of options"
        raise Refused(words, [Mistake("columns", shown(columns), words)])
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        words = f"columns: of different lengths: {', '.join(f'{n} {c}' for n, c in [*lengths.items()][:5])}"
        raise Refused(words, [Mistake("columns", shown(columns), words)])
    if max(lengths.values()) > MOST_ROWS:
        words = f"{max(lengths.values()):,} rows; expected 1 to {MOST_ROWS:,}"
        raise Refused(words, [Mistake("columns", shown(columns), words)])
    for row in zip(*columns.values(), strict=True):
        yield {name: value for name, value in zip(columns, row, strict=True) if value is not None}


def place_of_rows(table: Mapping[str, Any]) -> Callable[[int, str | None], str | None]:
    """Return a function from the number of a row, and a field in it, to the field of the batch.

    >>> place_of_rows({"scenarios": []})(1, "conditions.pue"), place_of_rows({"columns": {}})(2, "gpus")
    ('scenarios.1.conditions.pue', 'columns.gpus.2')
    """
    if "scenarios" in table:
        return lambda index, field: f"scenarios.{index}" if field is None else f"scenarios.{index}.{field}"

    def of_columns(index: int, field: str | None) -> str | None:
        if field is None:
            return None
        column, dot, inside = field.partition(".")
        return f"columns.{column}.{index}{dot}{inside}"

    return of_columns


def error_row(error: Refused) -> dict[str, Any]:
    """Return the answer to a row that cannot be answered."""
    return {"error": problem_of(error)}


class BatchSchemas(NamedTuple):
    """Schemas of bodies with one scenario or many, and of their answers."""

    components: dict[str, Any]
    """Component schemas by name."""
    request: dict[str, Any]
    answer: dict[str, Any]


BATCHES: dict[str, dict[str, Any]] = {
    "a batch": {"scenarios": [{"gpus": 8}, {"gpus": 16}], "fields": ["iteration_time"]},
    "columns": {
        "columns": {"gpus": [8, 16], "workload": ["vgg16", "resnet50"]},
        "fields": ["speedup"],
    },
    "a bad row": {"scenarios": [{"gpus": 8}, {"gpus": -1}], "fields": ["iteration_time"]},
}
"""Examples of bodies."""


def batch_schemas(
    request: Mapping[str, Any], answer: Mapping[str, Any], one: Mapping[str, Any]
) -> BatchSchemas:
    """Return the schemas of bodies with one scenario or many.

    Parameters
    ----------
    request : reference to the schema of one body
    answer, one : the schemas of one answer and of one body
    """
    described = {key: one["properties"][key] for key in COMMON}
    columns = {
        name: {
            "type": "array",
            "items": {"anyOf": [*_forms(option), {"type": "null"}]},
            "minItems": 1,
            "maxItems": MOST_ROWS,
            "description": f"Of each row: {option.get('description', name)}",
        }
        for name, option in one["properties"].items()
        if name not in COMMON
    }
    forms: dict[str, Any] = {
        "scenarios": {
            "type": "array",
            "description": "The rows; a bad one is answered by its error.",
            "items": request,
            "minItems": 1,
            "maxItems": MOST_ROWS,
        },
        "columns": {
            "type": "object",
            "description": "A list by the name of each option, all of a length; null leaves it open.",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": columns,
        },
    }
    rows = {
        f"PredictBatchOf{key.title()}": {
            "title": f"PredictBatchOf{key.title()}",
            "type": "object",
            "additionalProperties": False,
            "required": [key],
            "description": f"Up to {MOST_ROWS:,} scenarios.",
            "properties": {key: form, **described},
        }
        for key, form in forms.items()
    }
    components = {
        **rows,
        "RowError": {
            "title": "RowError",
            "type": "object",
            "description": "In the place of a row that cannot be answered.",
            "properties": {"error": _reference("Problem") | {"description": "What is wrong with it."}},
            "required": ["error"],
            "additionalProperties": False,
        },
        "PredictFields": {
            "title": "PredictFields",
            "type": "object",
            "description": "The keys of an answer that fields names, alone.",
            "properties": answer["properties"],
            "additionalProperties": False,
        },
        "PredictResults": {
            "title": "PredictResults",
            "type": "object",
            "description": "An answer for each row.",
            "required": ["results"],
            "additionalProperties": False,
            "properties": {
                "results": {
                    "type": "array",
                    "description": "In the order of the rows; in the place of a bad one its error.",
                    "items": {"anyOf": [*map(_reference, ("PredictAnswer", "RowError", "PredictFields"))]},
                }
            },
        },
    }
    # the schema without required keys last: readers that try each in order would always match it
    answers = ("PredictAnswer", "PredictResults", "PredictFields")
    return BatchSchemas(
        components, {"anyOf": [request, *map(_reference, rows)]}, {"anyOf": [*map(_reference, answers)]}
    )


def _forms(option: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the schemas of a value of an option, without null."""
    words = ("title", "description", "x-default", "unit")
    bare = {key: value for key, value in option.items() if key not in words}
    return [form for form in bare.get("anyOf", [bare]) if form != {"type": "null"}]


def _reference(name: str) -> dict[str, Any]:
    """Return a reference to a component schema."""
    return {"$ref": f"#/components/schemas/{name}"}
