"""Many predictions in one request, as a list or as columns; in the place of a bad row stands its error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from perfmodel.service.problems import Mistake, Refused, problem_of, shown
from perfmodel.service.requests import Request

MOST_ROWS = 10_000
KEYS = ("scenarios", "columns")
BESIDE = ("specs", "files", "fields")
"""What holds for all rows of a batch."""


def is_batch(table: Mapping[str, Any]) -> bool:
    """Whether a body of ``predict`` asks for many."""
    return any(key in table for key in KEYS)


def rows_of(table: Mapping[str, Any]) -> list[Any]:
    """Return the rows of a batch, each what a body of its own would hold.

    Raises
    ------
    Refused : no batch, or more rows than one may have; columns of different lengths
    """
    for key in table:
        if key not in (*KEYS, *BESIDE):
            words = f"unknown option {key!r} beside scenarios or columns; put it into each of them"
            raise Refused(
                words, [Mistake(str(key), shown(table[key]), f"expected {', '.join((*KEYS, *BESIDE))}")]
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
    if not isinstance(value, list):
        raise Refused("scenarios: expected a list", [Mistake("scenarios", shown(value), "expected a list")])
    return value


def _of_columns(columns: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table; null leaves an option open."""
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
    """Return what makes of the number of a row and a field in it the field of the batch.

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
    """Return what stands in the place of a row that cannot be answered."""
    return {"error": problem_of(error)}


def batch_schemas(
    request: Mapping[str, Any], answer: Mapping[str, Any], keys: Iterable[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of a body that is one scenario or many, and that of its answer.

    Parameters
    ----------
    request, answer : references to the schemas of one
    keys : of an answer
    """
    one = {
        "type": "object",
        "properties": {"error": {"$ref": "#/components/schemas/Problem"}},
        "required": ["error"],
    }
    results = {
        "title": "PredictResults",
        "type": "object",
        "description": "An answer for each row, in order; in the place of a bad one its error.",
        "required": ["results"],
        "properties": {"results": {"type": "array", "items": {"type": "object"}}},
    }
    rows: Sequence[Any] = [
        {
            "title": f"PredictBatchOf{key.title()}",
            "type": "object",
            "additionalProperties": False,
            "required": [key],
            "description": f"Up to {MOST_ROWS:,} scenarios.",
            "properties": {
                key: schema,
                "specs": {"$ref": "#/components/schemas/Specs"},
                "files": Request.model_json_schema()["properties"]["files"],
                "fields": {"type": "array", "items": {"type": "string"}, "examples": [["iteration_time"]]},
            },
        }
        for key, schema in (
            ("scenarios", {"type": "array", "items": request, "minItems": 1, "maxItems": MOST_ROWS}),
            (
                "columns",
                {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {"type": "array", "minItems": 1, "maxItems": MOST_ROWS},
                    "description": "A list by the name of each option, all of a length; null leaves it open.",
                },
            ),
        )
    ]
    components = {each["title"]: each for each in rows} | {"PredictResults": results, "RowError": one}
    references = [{"$ref": f"#/components/schemas/{each['title']}"} for each in rows]
    batch = {
        "components": components,
        "request": {"anyOf": [request, *references]},
        "examples": {
            "a batch": {"value": {"scenarios": [{"gpus": 8}, {"gpus": 16}], "fields": ["iteration_time"]}},
            "columns": {
                "value": {
                    "columns": {"gpus": [8, 16], "workload": ["vgg16", "resnet50"]},
                    "fields": ["speedup"],
                }
            },
        },
    }
    some = {
        "title": "PredictFields",
        "type": "object",
        "description": "The keys of an answer that fields names, alone.",
        "propertyNames": {"enum": sorted(keys)},
    }
    components["PredictFields"] = some
    named = ("PredictFields", "PredictResults")
    return batch, {"anyOf": [answer, *({"$ref": f"#/components/schemas/{name}"} for name in named)]}
