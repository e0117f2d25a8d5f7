"""What is sent to the HTTP service and what it answers, which is what ``--json`` prints, as pages.

They are made of what ``perfmodel schema`` prints, so that a new command of the service has its page at once.
"""

from __future__ import annotations

import json
from typing import Any

from docs.site import rst
from perfmodel.interfaces.service.commands import COMMANDS
from perfmodel.interfaces.service.schema import openapi, schema_of

FOLDER = "reference/http"
Schema = dict[str, Any]


def pages() -> dict[str, str]:
    """Return the pages, and the schemas as files, by their path in the site."""
    result: dict[str, str] = {f"{FOLDER}/openapi.json": _written(openapi())}
    for name in COMMANDS:
        schema = schema_of(name)
        result[f"{FOLDER}/{_file(name)}.json"] = _written(schema)
        result[f"{FOLDER}/{_file(name)}.rst"] = _page(name, schema)
    rows = [(f":doc:`/v1/{name} <{_file(name)}>`", rst.text(each.summary)) for name, each in COMMANDS.items()]
    result[f"{FOLDER}/index.rst"] = rst.page(
        rst.heading("HTTP and JSON"),
        "What a program sends to ``perfmodel serve`` and gets back, which is also what ``--json`` prints, "
        "with an example of each. ``POST /v1/COMMAND`` takes options in Python's words as JSON. Errors are "
        "``application/problem+json`` and name the field that is wrong. All of it as an OpenAPI document, of "
        "``perfmodel schema``: :download:`openapi.json <openapi.json>`.\n",
        rst.table(("path", "answers"), rows),
        ".. toctree::\n   :hidden:\n\n" + "".join(f"   {_file(name)}\n" for name in COMMANDS),
    )
    return result


def _file(name: str) -> str:
    return name.replace("/", "-")


def _written(schema: Schema) -> str:
    return json.dumps(schema, indent=1) + "\n"


def _page(name: str, schema: Schema) -> str:
    parts = [
        rst.heading(f"/v1/{name}"),
        rst.text(schema["summary"]) + "\n",
        f"JSON schema: :download:`{_file(name)}.json <{_file(name)}.json>`.\n",
    ]
    answers = schema["content"]["application/json"]["examples"]
    for title, body in schema["examples"].items():
        shown = answers[title]
        parts += [rst.heading(f"Example: {title}", "-"), _json(body), "The answer:\n"]
        parts += [rst.text(shown.get("description", "")), _json(shown["value"], "answer")]
    components = dict(schema["components"]["schemas"])
    for part in ("request", "answer"):
        shape = schema[part]
        parts.append(rst.heading(part.capitalize(), "-"))
        own = components.pop(_type(shape), None) if "$ref" in shape else shape
        if own is not None and own.get("properties"):
            parts += [_words(own), _table(own)]
        else:
            parts.append(rst.text(_type(shape)) + ".\n")
    for component, inner in components.items():
        if inner.get("properties"):
            parts += [rst.heading(component, "-"), _words(inner), _table(inner)]
    return rst.page(*parts)


def _json(value: Any, class_name: str = "") -> str:
    return rst.code(json.dumps(value, indent=1, ensure_ascii=False), "json", class_name)


def _words(schema: Schema) -> str:
    first = str(schema.get("description", "")).partition("\n\n")[0]
    return rst.text(" ".join(first.split())) + "\n" if first else ""


def _table(schema: Schema) -> str:
    return rst.definitions(
        (f"``{name}``", _kind(value), _meaning(value)) for name, value in schema.get("properties", {}).items()
    )


def _kind(value: Schema) -> str:
    default = value.get("x-default", value.get("default"))
    return rst.text(_type(value)) + (
        f", else {rst.literal(json.dumps(default))}" if default is not None else ""
    )


def _meaning(value: Schema) -> str:
    return rst.text(" ".join(str(value.get("description", "")).split()))


def _type(value: Schema) -> str:
    """A type in a few words.

    >>> _type({"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]})
    'list of number, or null'
    """
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    if "anyOf" in value:
        return ", or ".join(dict.fromkeys(map(_type, value["anyOf"])))
    if "enum" in value:
        return ", ".join(map(str, value["enum"]))
    if "const" in value:
        return str(value["const"])
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}" if "items" in value else "list"
    return str(value.get("type", "anything"))
