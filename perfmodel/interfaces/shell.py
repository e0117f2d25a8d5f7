"""A command as click has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import click

from perfmodel.core.errors import InputError
from perfmodel.core.files.reading import read_toml
from perfmodel.core.problem import called, shell
from perfmodel.core.records.options import Declared, Described, declared
from perfmodel.core.records.record import REQUIRED
from perfmodel.interfaces.cli.export import form_options, take_form
from perfmodel.interfaces.cli.options import catalogue_from, option_of, scenario_file_option, specs_option
from perfmodel.interfaces.cli.options_file import FILE, naming_the_file, options_file_option
from perfmodel.interfaces.cli.progress_line import progress_line
from perfmodel.interfaces.cli.report import typed_command
from perfmodel.interfaces.cli.spelling import Argument, Shell
from perfmodel.interfaces.cli.types import Cases, type_of
from perfmodel.interfaces.command import Command, Context
from perfmodel.model.options.scenario import Scenario, laid_over

Decorator = Callable[[Any], Any]


def click_command(one: Command) -> click.Command:
    """Return the command with its options, in the order in which its request declares them."""
    takes = one.typed or one.request
    fields = declared(takes)  # type: ignore[arg-type]  # mypy: a class with a hash is no key

    @progress_line()
    def call(specs: tuple[str, ...] = (), **options: Any) -> Any:
        form = take_form(options, one.forms)
        named = {name: options.pop(name) for name in one.writes}
        options |= {name: file for name, file in named.items() if name in fields}
        with naming_the_file(options.pop(FILE, None)):
            request = request_of(one, options)
            named |= {name: getattr(request, name, None) for name in named if name in fields}
            files = {name: Path(file) for name, file in named.items() if file is not None}
            for name, file in files.items():
                one.writes[name].check(file, request)
            context = Context(catalogue_from(specs), typed=typed_command())
            answer = one.run(request, context)
        for name, file in files.items():
            one.writes[name].write(file, answer, request, context)
        if form is not None:
            text = one.forms[form].text(answer, request)
            if text:
                click.echo(text, nl=not text.endswith("\n"))
        else:
            one.text(answer, request, *([context] if one.needs_context else []))
            for name, file in files.items():
                if note := one.writes[name].note:
                    click.echo(f"{note}: {file}")
        return one.status(answer) or None

    made: Any = call
    for decorate in reversed(_decorators(one, fields)):
        made = decorate(made)
    examples = "".join(f"\n  {line}" for line in one.examples)
    words = "\n\n".join(part for part in (one.summary, one.about, f"\b\nExamples:{examples}") if part)
    return click.command(one.name.rpartition(" ")[2], cls=Shell, help=words)(made)


def _decorators(one: Command, fields: Mapping[str, Declared]) -> list[Decorator]:
    """Return what gives a function its parameters, in the order of the help."""
    made: list[Decorator] = [_argument(fields[name]) for name in one.arguments]
    options = _flat({name: each for name, each in fields.items() if name not in one.arguments})
    made += [option_of(each, **_settings(one, each)) for each in options]
    made += [
        click.option(f"--{each.info.flag}", is_flag=True, help=each.words)
        for each in fields.values()
        if each.info.flag
    ]
    if one.of_scenario:
        made.append(scenario_file_option)
    if one.options_file:
        made.append(options_file_option)
    if one.hardware:
        made.append(specs_option)
    made += [
        click.option(f"--{name}", name, metavar=each.metavar, help=each.words, required=each.required)
        for name, each in one.writes.items()
    ]
    return made + form_options(one.forms)


def _settings(one: Command, option: Declared) -> dict[str, Any]:
    """Return what is special of an option; values that may hold commas are given one by one."""
    if _is_crossed(one, option):
        return {"many": True, "multiple": True}
    if one.each_a_case and option.field in (*Scenario.model_fields, "pricing") and option.type is not bool:
        return {} if option.info.commas else {"type": Cases(type_of(option))}
    several = {"multiple": True, "type": type_of(option)} if option.many and option.info.commas else {}
    return several | ({"required": True} if option.default is REQUIRED else {})


def _is_crossed(one: Command, option: Declared) -> bool:
    return one.crosses and option.field in Scenario.model_fields


def _flat(fields: Mapping[str, Declared]) -> list[Declared]:
    """Return options one by one: of a table, those that it declares and the command has not itself."""
    result: list[Declared] = []
    for one in fields.values():
        if _is_table(one):
            inner = declared(one.type).values()
            result += [each for each in inner if each.field not in (*one.info.but, *fields)]
        elif one.info.shell:
            result.append(one)
    return result


def _is_table(one: Declared) -> bool:
    return isinstance(one.type, type) and issubclass(one.type, Described)


def _argument(one: Declared) -> Decorator:
    """Return an argument, by its form or its name in capitals; of many values each is a word."""
    required, words = one.default is REQUIRED, -1 if one.many else 1
    metavar = one.info.form or one.name.upper()
    return click.argument(
        one.field,
        cls=Argument,
        words=called(one.template, shell),
        metavar=metavar,
        type=type_of(one),
        required=required,
        nargs=words,
    )


def request_of(one: Command, options: Mapping[str, Any]) -> Any:
    """Return the request of what was typed, by the names of parameters; a file's scenario lies below it."""
    takes = one.typed or one.request
    fields = declared(takes)  # type: ignore[arg-type]  # mypy: a class with a hash is no key
    given = {name: value for name, value in options.items() if value not in (None, ())}
    file = given.pop("scenario_file", None)
    for name, each in fields.items():
        if _is_table(each):
            own = {*declared(each.type)} - {*fields}
            inner = {field: given.pop(field) for field in sorted(own & {*given})}
            if given.pop(each.info.flag, False) or inner:
                given[name] = each.type.model_construct(**inner)
    if one.crosses:
        made: Any = _crossed(one, takes, given, file)
    elif file is None or not (written := read_toml(file)):
        made = takes.model_construct(**given)  # each option has checked its value
    else:
        try:
            job: Any = takes  # a kind of Scenario
            made = takes(**laid_over(job.below(written), given))
        except InputError as error:
            raise error.under(file) from None
    return made if one.typed is None else made.request()


def _crossed(one: Command, takes: type[Described], given: dict[str, Any], file: str | None) -> Any:
    """Return a request with the values of each option; one that is repeated was given several lists."""
    options = declared(Scenario)
    lists = {
        name: [*chain.from_iterable(values)]
        for name, values in given.items()
        if isinstance(values, tuple) and name in options and not options[name].info.commas
    }
    written = {} if file is None else read_toml(file)
    try:
        one.request(**written)  # by itself, so that an error names the file
    except InputError as error:
        raise error.under(str(file)) from None
    return takes(**laid_over(written, given | lists))


def click_group(name: str, words: str, members: Iterable[Command]) -> click.Group:
    """Return a group of commands: ``trace summary``, ``trace diff``."""
    each = [line for one in members for line in one.in_shell]
    return click.Group(name, {one.name.rpartition(" ")[2]: click_command(one) for one in each}, help=words)
