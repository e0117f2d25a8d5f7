"""``perfmodel schema``: the JSON Schema of what the service takes and answers."""

from __future__ import annotations

import json

import click

from perfmodel.core.errors import needed, unknown_name


@click.command("schema")
@click.argument("name", required=False, metavar="[COMMAND]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as it does without it too.")
def command(name: str | None, as_json: bool) -> None:
    """The JSON Schema of a command over HTTP, with units, examples and errors; without COMMAND all of them.

    All of them are an OpenAPI document, which a running service answers at /openapi.json.

    \b
    Example:
      perfmodel schema predict --json
    """
    needed("orjson", "serve", "the schema of the service")
    from perfmodel.interfaces.service.commands import COMMANDS
    from perfmodel.interfaces.service.schema import openapi, schema_of

    if name is not None and name not in COMMANDS:
        raise unknown_name("command of the service", name, COMMANDS)
    click.echo(json.dumps(openapi() if name is None else schema_of(name), indent=1))
