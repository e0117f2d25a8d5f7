"""What is sent to the HTTP service and what it answers, which is what ``--json`` prints, as JSON schemas.

The service's own register says which commands there are, so that a new one has its page at once.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from docs.site import rst
from perfmodel.service.commands import COMMANDS, Command

FOLDER = "reference/http"
Schema = dict[str, Any]


def pages() -> dict[str, str]:
    """Return the pages, and the schemas as files, by their path in the site."""
    result: dict[str, str] = {}
    for command in COMMANDS.values():
        schemas = {
            "request": schema_of(command.request),
            "answer": schema_of(command.answer),
        }
        files = {f"{FOLDER}/{_file(command.name)}-{part}.json": schema for part, schema in schemas.items()}
        result |= {path: json.dumps(schema, indent=1) + "\n" for path, schema in files.items()}
        result[f"{FOLDER}/{_file(command.name)}.rst"] = _page(command, schemas)
    rows = [(f":doc:`/v1/{name} <{_file(name)}>`", rst.text(each.summary)) for name, each in COMMANDS.items()]
    result[f"{FOLDER}/index.rst"] = rst.page(
        rst.heading("HTTP and JSON"),
        "``POST /v1/COMMAND`` takes options in Python's words as JSON and answers what ``--json`` of the "
        "command prints. Errors are ``application/problem+json`` and name the field that is wrong.\n",
        rst.table(("path", "answers"), rows),
        ".. toctree::\n   :hidden:\n\n" + "".join(f"   {_file(name)}\n" for name in COMMANDS),
    )
    return result


def _file(name: str) -> str:
    return name.replace("/", "-")


def schema_of(described: Any) -> Schema:
    """Return the JSON schema of a record, or of any other type that pydantic knows."""
    own = getattr(described, "model_json_schema", None)
    schema: Schema = own() if own else TypeAdapter(described).json_schema()
    return schema


def _page(command: Command, schemas: dict[str, Schema]) -> str:
    parts = [
        rst.heading(f"/v1/{command.name}"),
        rst.text(command.summary) + "\n",
        f"JSON schemas: :download:`request <{_file(command.name)}-request.json>`, "
        f":download:`answer <{_file(command.name)}-answer.json>`.\n",
    ]
    for title, body in command.examples.items():
        parts += [f"Example: {rst.text(title)}\n", rst.code(json.dumps(body, indent=1), "json")]
    for part, schema in schemas.items():
        parts += [rst.heading(part.capitalize(), "-"), _table(schema)]
        parts += [] if schema.get("properties") else [rst.text(_type(schema)) + ".\n"]
        for name, inner in schema.get("$defs", {}).items():
            if inner.get("properties"):
                parts += [rst.heading(name, "~"), _words(inner), _table(inner)]
    return rst.page(*parts)


def _words(schema: Schema) -> str:
    first = str(schema.get("description", "")).partition("\n\n")[0]
    return rst.text(" ".join(first.split())) + "\n" if first else ""


def _table(schema: Schema) -> str:
    return rst.definitions(
        (f"``{name}``", _kind(value), _meaning(value)) for name, value in schema.get("properties", {}).items()
    )


def _kind(value: Schema) -> str:
    default = value.get("default")
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
