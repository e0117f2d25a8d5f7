"""The JSON Schema of every command and the OpenAPI document of the service, from the types that answer."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter

import perfmodel
from perfmodel.service.batches import batch_schemas
from perfmodel.service.commands import COMMANDS, Command
from perfmodel.service.problems import MEDIA_TYPE
from perfmodel.service.streams import ARROW, STREAMED
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.instance import InstanceFile
from perfmodel.specs.link import Link
from perfmodel.specs.node import Node
from perfmodel.specs.options import MEASURED
from perfmodel.specs.record import Record
from perfmodel.specs.scenario import SHORT
from perfmodel.vocabulary import QUANTITIES

ABOUT = (
    "A closed-form performance model of distributed deep-learning training. A body holds a command's options "
    "in Python's words, an answer is what the command prints with --json. Numbers are in SI units: seconds, "
    "bytes, FLOP, B/s. No option names a file of the server: hardware of your own travels in specs, files in "
    "files."
)
REFERENCE = "#/components/schemas/"
JSON = "application/json"
_UNIT = re.compile(r"\[([^\]\s]{1,12}(?: CO2)?)\]")
SPELLED = tuple(unit for unit in MEASURED)
PROBLEM = {
    "title": "Problem",
    "description": "What is wrong with a request, and what would be right (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what would be right."},
        "errors": {
            "type": "array",
            "description": "Of a 422: each mistake.",
            "items": {
                "type": "object",
                "required": ["field", "value", "message"],
                "properties": {
                    "field": {
                        "type": ["string", "null"],
                        "description": "Where in the body, keys joined by dots; null of all of it.",
                    },
                    "value": {"description": "What stands there; of a long one the beginning."},
                    "message": {"type": "string"},
                },
            },
        },
    },
}
RESPONSES = {
    "304": "The answer is the one whose ETag was sent as If-None-Match.",
    "400": "The body is not JSON.",
    "401": "The service takes a bearer token, and the request has none that it knows.",
    "403": "The request comes from a page of another origin.",
    "408": "The request was sent too slowly.",
    "413": "The body is larger than the service takes.",
    "415": "The body is of another type than application/json.",
    "421": "The request names a host that the service does not answer for.",
    "422": "The request cannot be answered; each error names field, value and what would be right.",
    "429": "Too many requests wait for the pool; Retry-After says when to ask again.",
    "500": "The service failed.",
    "503": "The service is full, starting or ending; Retry-After says when to ask again.",
    "504": "The calculation took longer than the service allows.",
}
AGAIN = ("429", "503")


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one command: ``request`` and ``answer``, with what both refer to."""
    components: dict[str, Any] = {}
    command = COMMANDS[name]
    result = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "version": perfmodel.__version__,
        "command": command.name,
        "summary": command.summary,
        "request": _request(command, components),
        "answer": _answer(command, components),
        "examples": dict(command.examples),
    }
    return result | {"components": {"schemas": components}}


@cache
def openapi() -> dict[str, Any]:
    """Return the OpenAPI document: paths, schemas with units, examples and errors."""
    components: dict[str, Any] = {"Problem": PROBLEM}
    paths = {f"/v1/{name}": {"post": _operation(command, components)} for name, command in COMMANDS.items()}
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
            "/healthz": {"get": _health("Whether the service lives.")},
            "/readyz": {"get": _health("Whether the service takes requests.") | {"operationId": "ready"}},
        },
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _health(summary: str) -> dict[str, Any]:
    content = {JSON: {"schema": {"type": "object", "properties": {"status": {"type": "string"}}}}}
    return {
        "operationId": "health",
        "summary": summary,
        "security": [],
        "responses": {
            "200": {"description": "Yes.", "content": content},
            "503": _problem_response("503"),
        },
    }


def _operation(command: Command, components: dict[str, Any]) -> dict[str, Any]:
    request = _request(command, components)
    answer = _answer(command, components)
    content: dict[str, Any] = {JSON: {"schema": answer}}
    examples = {word: {"value": body} for word, body in command.examples.items()}
    if command.name == "predict":
        batch, results = batch_schemas(request, answer, command.answer.model_fields)
        components |= batch["components"]
        request, answer = batch["request"], results
        examples |= batch["examples"]
        content = {JSON: {"schema": answer}}
    if command.name == "sweep":
        content |= {
            kind: {"schema": {"type": "string", "description": words}} for kind, words in STREAMED.items()
        }
        content[ARROW]["schema"]["format"] = "binary"
    headers = {
        "ETag": {"description": "Of version, command and body.", "schema": {"type": "string"}},
        "Cache-Control": {"schema": {"type": "string"}},
    }
    responses: dict[str, Any] = {
        "200": {"description": "The answer.", "headers": headers, "content": content},
        "304": {"description": RESPONSES["304"]},
    }
    responses |= {status: _problem_response(status) for status in RESPONSES if status != "304"}
    return {
        "operationId": command.name.replace("/", "-"),
        "summary": command.summary,
        "description": inspect.cleandoc(command.request.__doc__ or "").partition("\n\n")[0],
        "requestBody": {"required": True, "content": {JSON: {"schema": request, "examples": examples}}},
        "responses": responses,
    }


def _problem_response(status: str) -> dict[str, Any]:
    response: dict[str, Any] = {
        "description": RESPONSES[status],
        "content": {MEDIA_TYPE: {"schema": {"$ref": f"{REFERENCE}Problem"}}},
    }
    if status in AGAIN:
        wait = {"description": "Seconds.", "schema": {"type": "integer"}}
        response["headers"] = {"Retry-After": wait}
    return response


def _request(command: Command, components: dict[str, Any]) -> dict[str, Any]:
    """Put the schema of a request under its name; return the reference to it."""
    schema = command.request.model_json_schema()
    for name, inner in schema.pop("$defs", {}).items():
        components[name] = _spelled(_moved(inner))
    schema = _spelled(_moved(schema))
    schema["description"] = inspect.cleandoc(command.request.__doc__ or "").partition("\n\n")[0]
    properties = schema["properties"]
    if "specs" in properties:
        properties["specs"] = {"description": properties["specs"]["description"], "$ref": f"{REFERENCE}Specs"}
        _specs(components)
    if "world_size" in properties:
        for short, field in SHORT.items():
            properties[short] = properties[field]
            properties[field] = {**properties[field], "description": f"Another word for {short}."}
    if "fields" in properties:
        properties["fields"]["examples"] = [["iteration_time", "interval"]]
    components[command.request.__name__] = schema
    return {"$ref": f"{REFERENCE}{command.request.__name__}"}


def _answer(command: Command, components: dict[str, Any]) -> dict[str, Any]:
    return _schema(command.answer, components)


def _specs(components: dict[str, Any]) -> None:
    if "Specs" in components:
        return
    components["Specs"] = {}
    kinds = {"accelerators": Accelerator, "nodes": Node, "links": Link}
    properties: dict[str, Any] = {
        kind: {
            "type": "object",
            "description": f"What files of {kind}/ hold, by their ids; id itself may be left out.",
            "additionalProperties": _schema(cls, components),
        }
        for kind, cls in kinds.items()
    }
    _schema(InstanceFile, components)
    offers = components.pop("InstanceFile")["properties"]
    components["Specs"] = {
        "title": "Specs",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": properties | {key: offers[key] for key in ("instances", "sources")},
    }


def _schema(annotation: Any, components: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; put what it refers to under its names, with the words of the source."""
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
    """Add the words and units that stand below a class's fields."""
    words = {name: line for one in reversed(cls.__mro__) for name, line in _docstrings(one).items()}
    for name, field in schema.get("properties", {}).items():
        if name in words and "description" not in field:
            field["description"] = words[name]
        stated = _UNIT.search(field.get("description", ""))
        if unit := stated[1] if stated else QUANTITIES[name].unit if name in QUANTITIES else None:
            field.setdefault("unit", unit)
    text = inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0]
    if text and not text.startswith(f"{cls.__name__}("):
        schema["description"] = " ".join(text.split())


@cache
def _docstrings(cls: type) -> dict[str, str]:
    """Return what stands below each field of a class of the package."""
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
    """Every class with fields that a type names, in it and in what it holds."""
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
    if issubclass(cls, Record | BaseModel):
        return [field.annotation for field in cls.model_fields.values()]
    if dataclasses.is_dataclass(cls) or hasattr(cls, "__total__"):
        try:
            return list(inspect.get_annotations(cls, eval_str=True).values())
        except NameError:
            return []
    return None


def _moved(schema: Any) -> Any:
    """Return a schema whose references point to the components."""
    if isinstance(schema, dict):
        return {
            key: value.replace("#/$defs/", REFERENCE) if key == "$ref" else _moved(value)
            for key, value in schema.items()
        }
    return [_moved(each) for each in schema] if isinstance(schema, list) else schema


def _spelled(schema: dict[str, Any]) -> dict[str, Any]:
    """Let a number with a unit also be a text, and a choice any spelling, as the service reads them."""
    for field in schema.get("properties", {}).values():
        for one in field.get("anyOf", [field]):
            if one.get("type") == "number" and field.get("unit") in SPELLED and "anyOf" in field:
                field["anyOf"] = [{"type": "string"}, *field["anyOf"]]
                break
    return schema
