"""The command line: parse, call, print.  The module of a command is imported when it is called."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from io import TextIOWrapper
from types import FrameType
from typing import Any

from perfmodel.interfaces.cli import startup

startup.with_rare_collections()  # before anything large is imported
startup.without_pydantic_plugins()
startup.on_one_core()

import click  # noqa: E402

from perfmodel import __version__  # noqa: E402
from perfmodel.core.errors import InputError, brief, unknown_name  # noqa: E402
from perfmodel.interfaces.cli.report import WORDS  # noqa: E402
from perfmodel.interfaces.register import COMMANDS, GROUPS, NAMES, SELDOM, command, members  # noqa: E402

NOBODY_READS = 128 + 13
"""Exit code of a program that SIGPIPE ended, in a shell."""
ENDINGS = ("SIGTERM", "SIGHUP")
"""Signals that end the program; unfinished files are removed first."""


def command_of(name: str) -> click.Command:
    """Return the click command of a name in ``COMMANDS``."""
    if name in GROUPS:
        from perfmodel.interfaces.shell import click_group

        return click_group(name, GROUPS[name], map(command, members(name)))
    if name in NAMES:
        from perfmodel.interfaces.shell import click_command

        return click_command(command(name))
    made: click.Command = import_module(f"perfmodel.interfaces.cli.{name.replace('-', '_')}").command
    return made


class _OutputClosed(Exception):
    """The reader of the output has closed the pipe."""


class _Commands(click.Group):
    """The group of all commands, imported by name; errors take one or two lines and exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name; None for an unknown one."""
        return command_of(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, with rarely used ones under a heading of their own."""
        listed = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        width = formatter.width - 6 - max(map(len, COMMANDS))
        for heading, seldom in (("Commands", False), ("Seldom used", True)):
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name, each.get_short_help_str(width))
                        for name, each in listed
                        if each is not None and (name in SELDOM) is seldom
                    ]
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of a command line; an unknown one, or an option given twice, is an error."""
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise unknown_name("command", args[0], COMMANDS)
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            _refuse_twice(ctx, command, rest)
        return name, command, rest

    def make_context(
        self, info_name: str | None, args: list[str], *more: Any, **kwargs: Any
    ) -> click.Context:
        """Parse the command line; prints the help if requested."""
        typed = list(args)
        with _closed_output_kept_apart():
            ctx = super().make_context(info_name, args, *more, **kwargs)
        ctx.meta[WORDS] = typed
        return ctx

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with _closed_output_kept_apart():
            return super().invoke(ctx)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; a user's mistake or a full disk gives exit code 2 and no traceback.

        If the reader of the output stops, as ``head`` does, the exit code is 141 without a message, as after
        SIGPIPE.
        """
        if sys.stdout is None:
            _fail("standard output is closed; redirect it to /dev/null to drop it")
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):  # a name with letters that the locale cannot encode
                stream.reconfigure(errors="backslashreplace")
        try:
            with _unwound_when_ended():
                try:
                    result = super().main(*args, **{**kwargs, "standalone_mode": False})
                finally:
                    sys.stdout.flush()
        except (click.Abort, KeyboardInterrupt):
            _fail("interrupted", 130)
        except click.MissingParameter as error:
            _fail(_missing(error))
        except click.UsageError as error:
            hint = f"\ntry: {error.ctx.command_path} --help" if error.ctx else ""
            _fail(error.format_message().replace("\n", " ") + hint)
        except InputError as error:
            _fail(error.note().replace("\n", " "))
        except click.ClickException as error:
            _fail(str(error).replace("\n", " "))
        except (BrokenPipeError, _OutputClosed):
            _give_up_output()
            sys.exit(NOBODY_READS)
        except (MemoryError, RecursionError) as error:
            _fail("out of memory" if isinstance(error, MemoryError) else "nested too deeply")
        except OSError as error:
            _give_up_output()
            what = error.filename or "the output cannot be written"
            _fail(f"{what}: {error.strerror or error}")
        if kwargs.get("standalone_mode", True):
            sys.exit(result if isinstance(result, int) else 0)
        return result


def _refuse_twice(ctx: click.Context, command: click.Command, words: list[str]) -> None:
    """Refuse an option that is given twice, of which only the last would count, unless it takes a list.

    Raises
    ------
    UsageError : an option is given twice
    """
    own = click.Context(command, parent=ctx, info_name=command.name)
    while isinstance(command, click.Group) and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
        own = click.Context(command, parent=own, info_name=command.name)
    try:
        given = command.make_parser(own).parse_args(list(words))[2]
    except click.UsageError:  # raised again when the command line is parsed
        return
    for option in given:
        is_list = not isinstance(option, click.Option) or option.multiple or option.is_eager
        if not is_list and given.count(option) > 1:
            several = (
                ""
                if getattr(option, "is_flag", False)
                else "; where it takes several values, join them by commas"
            )
            raise click.UsageError(f"{option.get_error_hint(own)} is given twice: give it once{several}", own)


def _missing(error: click.MissingParameter) -> str:
    """Return a message on a missing parameter, with the first example of the command."""
    words = "" if error.ctx is None else error.ctx.command.help or ""
    example = next(
        (line.strip() for line in words.splitlines() if line.strip().startswith("perfmodel ")), None
    )
    message = error.format_message().removeprefix("Missing option ").removeprefix("Missing argument ")
    what = message.rstrip(".").replace("'", "")
    if example is None:
        return f"give {what}" + (f"\ntry: {error.ctx.command_path} --help" if error.ctx else "")
    return f"give {what}, e.g.\n{example}"


@contextmanager
def _closed_output_kept_apart() -> Iterator[None]:
    """Distinguish a closed pipe from a failed check: click ends with exit code 1 for both."""
    try:
        yield
    except BrokenPipeError as error:
        raise _OutputClosed from error


@contextmanager
def _unwound_when_ended() -> Iterator[None]:
    """Turn SIGTERM and SIGHUP into an exception, so that unfinished files are removed."""

    def leave(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    taken = []
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in ENDINGS if hasattr(signal, name)]
        taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def _give_up_output() -> None:
    """Discard buffered standard output: Python would try to write it again at exit, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int = 2) -> None:
    """Print a message to standard error and exit."""
    click.echo(f"perfmodel: {brief(message)}", err=True)
    sys.exit(code)


@click.group(
    cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True
)
@click.version_option(__version__, package_name="perfmodel")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Closed-form performance model of distributed deep-learning training.

    Start with: perfmodel predict --gpus 32
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
