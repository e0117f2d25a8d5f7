"""The JSON Schema of every command and the OpenAPI document of the service, from the types of answers."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from pydantic import BaseModel, TypeAdapter

import perfmodel
from perfmodel.core.records.options import MEASURED, declared
from perfmodel.core.records.record import Record
from perfmodel.core.sentences import capitalised
from perfmodel.core.vocabulary import QUANTITIES
from perfmodel.hardware.catalogue.kinds import CLASSES
from perfmodel.hardware.instance import InstanceFile
from perfmodel.interfaces.service.batches import BATCHES, batch_schemas
from perfmodel.interfaces.service.commands import COMMANDS, Command
from perfmodel.interfaces.service.example_answers import example_answers
from perfmodel.interfaces.service.list_routes import list_paths
from perfmodel.interfaces.service.responses import PROBLEM, STATUSES, problem_response, problem_responses
from perfmodel.interfaces.service.streams import ARROW, STREAMED
from perfmodel.model.options.scenario import SHORT, Scenario
from perfmodel.model.options.understood import Understood

ABOUT = (
    "A closed-form performance model of distributed deep-learning training. A body has a command's options "
    "by their names in Python; an answer is the output of the command with --json. Numbers are in SI units: "
    "seconds, bytes, FLOP, B/s. No option names a file of the server: send your own hardware in specs, files "
    "in files."
)
REFERENCE = "#/components/schemas/"
_PROBLEM = {"$ref": f"{REFERENCE}Problem"}
JSON = "application/json"
_UNIT = re.compile(r"\[([^\]\s]{1,12}(?: CO2(?:/kWh)?)?)\]")
SPELLED = tuple(unit for unit in MEASURED)


class _Described(NamedTuple):
    """Schemas and examples of a command."""

    request: dict[str, Any]
    """Schema of the body."""
    answer: dict[str, Any]
    """Schema of the JSON answer."""
    content: dict[str, Any]
    """Possible answers by media type."""
    examples: dict[str, Mapping[str, Any]]
    """Examples of bodies, by a short description."""


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one command, with everything that the OpenAPI document has on it.

    These are ``request``, ``answer``, ``problem`` and the components they refer to; ``content`` by media
    type; the meaning of each status; examples.
    """
    components: dict[str, Any] = {"Problem": PROBLEM}
    command = COMMANDS[name]
    described = _described(command, components)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "version": perfmodel.__version__,
        "command": command.name,
        "summary": command.summary,
        "request": described.request,
        "answer": described.answer,
        "problem": _PROBLEM,
        "content": described.content,
        "statuses": {str(status): words for status, (words, _) in STATUSES.items()},
        "examples": described.examples,
        "components": {"schemas": dict(sorted(components.items()))},
    }


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document: paths, schemas with units, examples and errors."""
    components: dict[str, Any] = {"Problem": PROBLEM}
    paths: dict[str, dict[str, Any]] = {
        f"/v1/{name}": {"post": _operation(command, components)} for name, command in COMMANDS.items()
    }
    problems = problem_responses(_PROBLEM) | {"404": problem_response(404, _PROBLEM)}
    for path, item in list_paths(lambda annotation: _schema(annotation, components), problems).items():
        paths[path] = paths.get(path, {}) | item
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "perfmodel",
            "version": perfmodel.__version__,
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths
        | {
            "/healthz": {"get": _health("health", "Whether the service is alive.")},
            "/readyz": {"get": _health("ready", "Whether the service takes requests.")},
        },
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _health(name: str, summary: str) -> dict[str, Any]:
    """Return the operation of a health check."""
    schema = {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string", "description": "ok or ready."}},
    }
    return {
        "operationId": name,
        "summary": summary,
        "security": [],
        "responses": {
            "200": {
                "description": "Yes.",
                "content": {JSON: {"schema": schema, "example": {"status": "ok"}}},
            },
            "503": problem_response(503, _PROBLEM),
        },
    }


def _described(command: Command, components: dict[str, Any]) -> _Described:
    """Add the schemas of a command to the components; return references to them."""
    request = _request(command, components)
    answer = _schema(command.answer, components)
    examples: dict[str, Mapping[str, Any]] = dict(command.examples)
    if command.name == "predict":
        batch = batch_schemas(request, components["PredictAnswer"], components["PredictRequest"])
        components |= batch.components
        request, answer = batch.request, batch.answer
        examples |= BATCHES
    content: dict[str, Any] = {JSON: {"schema": answer, "examples": example_answers()[command.name]}}
    if command.parts is not None:
        content |= {
            kind: {"schema": {"type": "string", "description": words}} for kind, words in STREAMED.items()
        }
        content[ARROW]["schema"]["format"] = "binary"
    return _Described(request, answer, content, examples)


def _operation(command: Command, components: dict[str, Any]) -> dict[str, Any]:
    """Return the POST operation of a command."""
    described = _described(command, components)
    headers = {
        "ETag": {
            "description": "Tag of the service's code and data, command and body; a stream has none.",
            "schema": {"type": "string"},
        },
        "Cache-Control": {"description": "How long the answer may be kept.", "schema": {"type": "string"}},
    }
    responses: dict[str, Any] = {
        "200": {"description": "The answer.", "headers": headers, "content": described.content},
    }
    examples = {words: {"value": body} for words, body in described.examples.items()}
    return {
        "operationId": command.name.replace("/", "-"),
        "summary": command.summary,
        "description": _first_words(command.request),
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": described.request, "examples": examples}},
        },
        "responses": responses | problem_responses(_PROBLEM),
    }


def _first_words(cls: Any) -> str:
    """Return the first paragraph of a class's docstring."""
    return " ".join(inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].split())


def _request(command: Command, components: dict[str, Any]) -> dict[str, Any]:
    """Add the schema of a request to the components; return a reference to it."""
    schema = command.request.model_json_schema()
    for name, inner in schema.pop("$defs", {}).items():
        components[name] = _spelled(_moved(inner))
    schema = _spelled(_moved(schema))
    schema["description"] = _first_words(command.request)
    properties = schema["properties"]
    if "specs" in properties:
        properties["specs"] = {
            "description": properties["specs"]["description"],
            "anyOf": [{"$ref": f"{REFERENCE}Specs"}, {"type": "null"}],
        }
        _specs(components)
    if "files" in properties:
        components["Files"] = {**properties["files"], "title": "Files"}
        properties["files"] = {"description": properties["files"]["description"], "$ref": f"{REFERENCE}Files"}
    if "scenarios" in properties:
        properties["scenarios"]["items"] = _request(COMMANDS["predict"], components)
    if "world_size" in properties:
        for short, field in SHORT.items():
            properties[short] = properties[field]
            properties[field] = {**properties[field], "description": f"Synonym of {short}."}
    if "fields" in properties:
        properties["fields"]["examples"] = [["iteration_time", "interval"]]
    components[command.request.__name__] = schema
    return {"$ref": f"{REFERENCE}{command.request.__name__}"}


def _specs(components: dict[str, Any]) -> None:
    """Add the schema of the user's own hardware to the components."""
    if "Specs" in components:
        return
    components["Specs"] = {}
    properties: dict[str, Any] = {
        kind: {
            "type": "object",
            "description": f"Contents of files of {kind}/ by id; id itself may be left out.",
            "additionalProperties": _schema(cls, components),
        }
        for kind, cls in CLASSES.items()
    }
    _schema(InstanceFile, components)
    offers = components.pop("InstanceFile")["properties"]
    offers["instances"]["description"] = "Machines for hire, each with its price."
    offers["sources"]["description"] = "Sources of the prices, by the keys that instances name."
    components["Specs"] = {
        "title": "Specs",
        "description": "Your own hardware and software.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties | {key: offers[key] for key in ("instances", "sources")},
    }


def _schema(annotation: Any, components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; add the schemas it refers to, with docstrings of fields."""
    annotation = getattr(annotation, "in_json", annotation)
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    schema = adapter.json_schema(ref_template=f"{REFERENCE}{{model}}")
    for name, inner in schema.pop("$defs", {}).items():
        components.setdefault(name, inner)
    if isinstance(annotation, type):
        components.setdefault(annotation.__name__, schema)
        schema = {"$ref": f"{REFERENCE}{annotation.__name__}"}
    for cls in _classes(annotation, set()):
        _document(components.get(cls.__name__, {}), cls)
    return schema


def _document(schema: dict[str, Any], cls: type) -> None:
    """Add descriptions and units to fields, from docstrings or from the quantity of the same name."""
    words = {name: line for one in reversed(cls.__mro__) for name, line in _docstrings(one).items()}
    for name, field in schema.get("properties", {}).items():
        quantity = QUANTITIES.get(name)
        if "description" not in field and (line := words.get(name) or _usual_words(cls, name)):
            field["description"] = line
        stated = _UNIT.search(field.get("description", ""))
        if stated:
            field["unit"] = stated[1]
        elif quantity and any(one.get("type") in ("number", "integer") for one in _forms(field)):
            field.setdefault("unit", quantity.unit)
    if "properties" in schema:
        schema["additionalProperties"] = False
    if text := _first_words(cls):
        schema["description"] = text if not text.startswith(f"{cls.__name__}(") else cls.__name__


def _usual_words(cls: type, name: str) -> str | None:
    """Return the description of a name as an option of a scenario or as a quantity; None for others."""
    if cls is Understood and name in declared(Scenario):
        return declared(Scenario)[name].words
    meaning = QUANTITIES[name].meaning if name in QUANTITIES else ""
    return f"{capitalised(meaning)}." if meaning else None


def _forms(field: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alternatives of a value's schema."""
    return [field, *field.get("anyOf", [])]


@cache
def _docstrings(cls: type) -> dict[str, str]:
    """Return the docstring below each field of a class of the package."""
    if not cls.__module__.startswith("perfmodel"):
        return {}
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):  # made by a function
        return {}
    body = getattr(tree.body[0], "body", [])
    result = {}
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = getattr(getattr(below, "value", None), "value", None)
            if isinstance(below, ast.Expr) and isinstance(text, str):
                result[field.target.id] = " ".join(text.split())
    return result


def _classes(annotation: Any, seen: set[type]) -> set[type]:
    """Return every class with fields in a type, directly or nested."""
    if get_origin(annotation) is Annotated:
        return _classes(get_args(annotation)[0], seen)
    if not isinstance(annotation, type) or get_origin(annotation) is not None:
        for each in get_args(annotation):
            _classes(each, seen)
        return seen
    if annotation in seen or not annotation.__module__.startswith("perfmodel"):
        return seen
    fields = _fields(annotation)
    if fields is None:
        return seen
    seen.add(annotation)
    for each in fields:
        _classes(each, seen)
    return seen


def _fields(cls: type) -> list[Any] | None:
    """Return the types of a class's fields; None for a class without fields."""
    if row_type := getattr(cls, "row_type", None):
        return [row_type()]
    if issubclass(cls, Record | BaseModel):
        return [field.annotation for field in cls.model_fields.values()]
    if dataclasses.is_dataclass(cls) or hasattr(cls, "__total__"):
        try:
            return list(get_type_hints(cls).values())
        except NameError:
            return []
    return None


def _moved(schema: Any) -> Any:
    """Return a schema with references to the components."""
    if isinstance(schema, dict):
        return {
            key: value.replace("#/$defs/", REFERENCE) if key == "$ref" else _moved(value)
            for key, value in schema.items()
        }
    return [_moved(each) for each in schema] if isinstance(schema, list) else schema


def _spelled(schema: dict[str, Any]) -> dict[str, Any]:
    """Allow texts for numbers with a unit, as the service does, and rename ``default`` to ``x-default``.

    Clients generated from the document would send every default, but an option that is given means more than
    one that is left out.
    """
    for field in schema.get("properties", {}).values():
        if (default := field.pop("default", None)) is not None:
            field["x-default"] = default
        for one in field.get("anyOf", [field]):
            if one.get("type") == "number" and field.get("unit") in SPELLED and "anyOf" in field:
                field["anyOf"] = [{"type": "string"}, *field["anyOf"]]
                break
    return schema
