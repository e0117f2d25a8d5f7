"""``schema``: the JSON Schema of the service's requests and answers."""

import json
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.errors import needed, unknown_name
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import Form

if TYPE_CHECKING:
    from perfmodel.core.files.tables import Report


class SchemaRequest(Described):
    """A command of the service.

    Parameters
    ----------
    name : Command, as in its address: predict, trace/summary.  [default: all]
    """

    name: Annotated[str | None, OptionInfo(form="[COMMAND]")] = None


def run(request: SchemaRequest, context: Context) -> "Report":
    """Return the JSON Schema of a command over HTTP, or an OpenAPI document of all commands.

    Raises
    ------
    InputError : an unknown command
    MissingPackage : a package of the service is not installed

    Examples
    --------
    >>> from perfmodel import schema
    >>> "workers" in schema("servers").components["schemas"]["ServersRequest"]["properties"]
    True
    """
    needed("orjson", "serve", "the schema of the service")
    from perfmodel.core.files.tables import Report
    from perfmodel.interfaces.service.commands import COMMANDS
    from perfmodel.interfaces.service.schema import openapi, schema_of

    if request.name is not None and request.name not in COMMANDS:
        raise unknown_name("command of the service", request.name, COMMANDS)
    return Report(openapi() if request.name is None else schema_of(request.name))


def text(answer: "Report", request: object) -> None:
    """Print the schema."""
    import click

    click.echo(_indented(answer, request))


def _indented(answer: Any, _: object) -> str:
    """Return the schema as indented JSON."""
    return json.dumps(answer, indent=1)


COMMAND = Command(
    name="schema",
    summary="Print the JSON Schema of a command over HTTP, with units, examples and errors; without COMMAND "
    "of all commands.",
    about="That of all commands is an OpenAPI document, which a running service has at /openapi.json.",
    request=SchemaRequest,
    answers=("perfmodel.core.files.tables:Report",),
    run=run,
    text=text,
    forms={"json": Form("Print JSON, which is also the default.", _indented)},
    arguments=("name",),
    positional=("name",),
    hardware=False,
    examples=("perfmodel schema predict --json",),
    bodies={"of predict": {"name": "predict"}},
    without={"http": "a service answers it at /openapi.json"},
)
