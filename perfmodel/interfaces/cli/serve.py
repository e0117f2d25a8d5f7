"""``perfmodel serve``: the commands over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any

import click

from perfmodel.core.errors import needed
from perfmodel.interfaces.cli.types import Count, Quantity, Time
from perfmodel.interfaces.service.settings import Settings, option_of, variable_of

NO_DEFAULT = (None, (), False)


class _Seconds(Time):
    """Parameter type: a time, in seconds if it has no unit, as in environment variables."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in seconds."""
        text = str(value)
        return super().convert(f"{text}s" if text and text[-1].isdecimal() else text, param, ctx)


def _type_of(one: Field[Any]) -> click.ParamType:  # type: ignore[type-arg,unused-ignore]
    """Return the parameter type of a setting."""
    metadata = one.metadata
    if metadata["unit"] == "s":
        return _Seconds()
    if metadata["unit"] == "B":
        return Quantity("B", metadata["most"])
    if isinstance(one.default, int):
        return Count(int(metadata["most"]), int(metadata["least"]))
    return click.STRING


def _with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each setting."""
    for one in reversed(fields(Settings)):
        names = [option_of(one.name), one.name]
        if isinstance(one.default, bool):
            names[0] += f"/--no-{one.name.replace('_', '-')}" if one.default else ""
            kind: dict[str, Any] = {"is_flag": True}
        else:
            kind = {"type": _type_of(one), "multiple": isinstance(one.default, tuple)}
        function = click.option(
            *names,
            **kind,
            default=one.default,
            envvar=variable_of(one.name),
            show_envvar=False,
            help=one.metadata["words"] + _default_of(one),
        )(function)
    return function


def _default_of(one: Field[Any]) -> str:
    """Return the default of a setting as the end of its help text."""
    if one.default in NO_DEFAULT or isinstance(one.default, bool):
        return ""
    from perfmodel.core.units import show

    default: Any = one.default
    unit = one.metadata["unit"]
    return f"  [default: {show(default, unit) if unit else default}]"


@click.command("serve")
@_with_settings
@click.option("--check", is_flag=True, help="Only check whether the service can start.")
@click.option("--json", "as_json", is_flag=True, help="Print the result of --check as JSON.")
def command(check: bool, as_json: bool, **values: Any) -> None:
    """Serve the commands over HTTP; by default only to this machine.

    Every option can also be an environment variable: --body-bytes is
    PERFMODEL_SERVE_BODY_BYTES. Logs are lines of JSON on standard error. SIGTERM ends it:
    requests in flight finish, new ones are refused.

    \b
    Example:
      perfmodel serve --check
    """
    from perfmodel.core.errors import refusal

    if as_json and not check:
        raise refusal("options.json_check")
    for module in ("fastapi", "uvicorn", "pebble", "prometheus_client"):
        needed(module, "serve", "the service")
    for one in fields(Settings):
        if isinstance(one.default, int) and not isinstance(one.default, bool):
            values[one.name] = int(values[one.name])
    settings = Settings(**values)
    from perfmodel.interfaces.service.tokens import Tokens

    Tokens(settings.token_file)
    if check:
        _check(settings, as_json)
        return
    from perfmodel.interfaces.service.serve import serve

    serve(settings, lambda address: click.echo(f"listening on {address}"))


def _check(settings: Settings, as_json: bool) -> None:
    """Print whether the service can listen on its address; exit with 1 if not."""
    from perfmodel.core.errors import InputError
    from perfmodel.interfaces.service.server import bound

    reason = None
    try:
        bound(settings.host, settings.port).close()
    except InputError as error:
        reason = error.note()
    url = f"http://{settings.host}:{settings.port}"
    if as_json:
        import json

        click.echo(json.dumps({"ready": reason is None, "reason": reason, "url": url}))
    else:
        click.echo(reason or f"ready: would listen on {url}")
    if reason:
        raise SystemExit(1)
