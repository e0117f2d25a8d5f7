"""The page at /docs: requests and answers of every command, without scripts or external resources."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from typing import Any

from perfmodel.interfaces.service.schema import REFERENCE, openapi

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;vertical-align:top;padding:.25rem .6rem;border-bottom:1px solid #ddd}"
    "pre{background:#f4f4f4;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}"
    "code{overflow-wrap:anywhere}@media(min-width:50rem){td:first-child{white-space:nowrap}}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#262626}"
    "th,td{border-color:#444}a{color:#8bf}}"
)


@cache
def docs_page() -> bytes:
    """Return the page, made from the OpenAPI document."""
    document = openapi()
    schemas, info = document["components"]["schemas"], document["info"]
    commands = {path: item["post"] for path, item in document["paths"].items() if "post" in item}
    links = "".join(
        f'<li><a href="#{escape(each["operationId"])}"><code>{escape(path)}</code></a> '
        f"{escape(each['summary'])}</li>"
        for path, each in commands.items()
    )
    body = "".join(_command(path, each, schemas) for path, each in commands.items())
    statuses = "".join(
        f"<tr><td>{status}</td><td>{escape(each['description'])}{_example(each)}</td></tr>"
        for status, each in next(iter(commands.values()))["responses"].items()
    )
    types = "".join(
        f'<h3 id="type-{escape(name)}">{escape(name)}</h3>{_tables(schema, schemas)}'
        for name, schema in schemas.items()
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>perfmodel {info["version"]}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
        f"<h1>perfmodel {info['version']}</h1><p>{escape(info['description'])}</p>"
        f'<p>For programs: <a href="/openapi.json">/openapi.json</a>.</p><ul>{links}</ul>'
        f"<h2>Statuses</h2><table>{statuses}</table>{body}<h2>Types</h2>{types}</html>"
    ).encode()


def _example(response: dict[str, Any]) -> str:
    """Return the example of a response as HTML; empty for a response without one."""
    bodies = [each["example"] for each in response.get("content", {}).values() if "example" in each]
    return "".join(f"<pre>{escape(json.dumps(body))}</pre>" for body in bodies)


def _command(path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return the section of a command as HTML."""
    content = operation["requestBody"]["content"]["application/json"]
    answered = operation["responses"]["200"]["content"]["application/json"]
    examples = "".join(
        f"<p>{escape(word)}:</p><pre>curl localhost:8080{escape(path)} --json "
        f"'{escape(json.dumps(each['value']))}'</pre>"
        for word, each in content["examples"].items()
    )
    return (
        f'<h2 id="{escape(operation["operationId"])}"><code>POST {escape(path)}</code></h2>'
        f"<p>{escape(operation['summary'])}</p>{examples}"
        f"<details><summary>Request</summary>{_tables(content['schema'], schemas)}</details>"
        f"<details><summary>Answer</summary>{_tables(answered['schema'], schemas)}</details>"
        f"<details><summary>Example answer</summary>{_answer(answered['examples'])}</details>"
    )


def _answer(examples: dict[str, Any]) -> str:
    """Return the answer to the first example of a request as HTML."""
    words, first = next(iter(examples.items()))
    heading = escape(f"{words}. {first.get('description', '')}")
    return f"<p>{heading}</p><pre>{escape(json.dumps(first['value'], indent=1))}</pre>"


def _tables(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """Return a table of keys for each alternative of a schema, as HTML."""
    tables = []
    for each in schema.get("anyOf", [schema]):
        one = schemas[each["$ref"].removeprefix(REFERENCE)] if "$ref" in each else each
        items = one.get("items", {})
        if "$ref" in items:
            one = schemas[items["$ref"].removeprefix(REFERENCE)]
        rows = "".join(_row(name, field) for name, field in one.get("properties", {}).items())
        tables.append(f"<p>{escape(one.get('description', one.get('title', '')))}</p><table>{rows}</table>")
    return "".join(tables)


def _row(name: str, field: dict[str, Any]) -> str:
    """Return a row of a table of keys: name, type, unit, description."""
    unit = field.get("unit", "")
    return (
        f"<tr><td><code>{escape(name)}</code></td><td>{_kind(field)}</td>"
        f"<td>{escape('' if unit == '1' else unit)}</td><td>{escape(field.get('description', ''))}</td></tr>"
    )


def _kind(field: dict[str, Any]) -> str:
    """Return the type of a value in a few words, with links to types."""
    if "$ref" in field:
        name = escape(str(field["$ref"]).removeprefix(REFERENCE))
        return f'<a href="#type-{name}">{name}</a>'
    if "enum" in field:
        return escape(", ".join(map(str, field["enum"])))
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(map(_kind, field["anyOf"])))
    kind = field.get("type", "anything")
    if kind == "array":
        return f"list of {_kind(field.get('items', {}))}"
    if kind == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"table of {_kind(field['additionalProperties'])}"
    return escape(" or ".join(kind) if isinstance(kind, list) else str(kind))
