"""The register of what the service answers: a command's name, what it takes, what it answers, and how."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from perfmodel.attachments import only_attached
from perfmodel.errors import InputError
from perfmodel.service import answers, requests
from perfmodel.service.problems import Mistake, Refused, refused
from perfmodel.specs.store import Catalogue

LARGEST_CHEAP = 8192
"""Bytes of a body whose answer takes no longer than that of a line; more are specs, files or batches."""
Cost = Literal["cheap", "costly"]
"""cheap: under 5 ms, answered where the request arrives; costly: in the pool."""


class Command(NamedTuple):
    """One command of the service, at ``/v1/NAME``."""

    name: str
    summary: str
    request: Any
    """The record that a body is checked as."""
    answer: Any
    """The type of the answer: what ``--json`` prints."""
    function: Callable[[Any, Catalogue], bytes]
    """From a checked request to the JSON of its answer."""
    cost: Cost
    examples: dict[str, dict[str, Any]]
    """Bodies that are answered, by a word or two."""


COMMANDS: dict[str, Command] = {
    each.name: each
    for each in (
        Command(
            "predict",
            "One training iteration: its time, where it goes, and how well the job scales.",
            requests.PredictRequest,
            answers.PredictAnswer,
            answers.predict,
            "cheap",
            {
                "ResNet-50 on 32 GPUs": {"workload": "resnet50", "gpus": 32},
                "a transformer": {"workload": "llama-3-8b", "gpus": 64, "tensor_parallel": 4},
            },
        ),
    )
}


def answer(name: str, body: bytes) -> bytes:
    """Return the JSON that a command answers to the body of a request: a pure function of both.

    No file of this machine is opened but those that come with the package, whatever the body says.

    Raises
    ------
    Refused : the body is no JSON, or not what the command takes; one that may be sent to another process
    """
    command, table = COMMANDS[name], table_of(body)
    return _answered(command, table)


def is_cheap(command: Command, body: bytes) -> bool:
    """Whether a body is answered where it arrives: a cheap command's, if it is one and not many at once."""
    return command.cost == "cheap" and len(body) <= LARGEST_CHEAP


def _answered(command: Command, table: dict[str, Any]) -> bytes:
    try:
        with only_attached(files_of(table)):
            request = command.request(**table)
            specs = request.specs
            catalogue = Catalogue.with_tables(specs) if specs else Catalogue.built_in()
            return command.function(request, catalogue)
    except InputError as error:
        raise refused(error, table) from None
    except (MemoryError, RecursionError) as error:
        words = "too large a job for this service" if isinstance(error, MemoryError) else "nested too deeply"
        raise Refused(words) from None


def table_of(body: bytes) -> dict[str, Any]:
    """Return the JSON object of a body.

    Raises
    ------
    Refused : no JSON, or none that is an object; two keys of one name
    """
    try:
        table = json.loads(body or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the body is not JSON: {error}", status=400) from None
    if not isinstance(table, dict):
        raise Refused(
            'the body is no JSON object; expected options by name, e.g. {"gpus": 32}',
            [Mistake(None, None, "expected an object")],
        )
    return table


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def files_of(table: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files that a body brings along."""
    files = table.get("files")
    if not isinstance(files, dict):
        return {}  # what else it may be is refused with the request
    return {
        name: text.encode("utf-8", "surrogatepass") for name, text in files.items() if isinstance(text, str)
    }
