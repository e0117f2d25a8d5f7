"""Local files that are sent with a request, under names that the answer replaces by the local ones.

A name in a request is ``file-1/my net.csv``: unique by its folder, while the file name stays, since a network
is named by its file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from perfmodel.core.files.attachments import Content, sent_content
from perfmodel.core.files.reading import read_bytes
from perfmodel.core.records.options import Declared, declared
from perfmodel.equations.distribution import Distribution, Empirical
from perfmodel.model.options.run import Run
from perfmodel.model.options.scenario import Scenario, field_of
from perfmodel.workloads.catalogue import is_file

LARGEST = 1 << 30
"""Largest file that is sent [B]; the service has its own limit."""
LAW_OF_A_FILE = "empirical"


class Files:
    """Files of one request, by their names in it."""

    def __init__(self) -> None:
        """Start without files."""
        self.contents: dict[str, Content] = {}
        self._paths: dict[str, str] = {}
        """Local paths by the names in the request."""

    def of_scenario(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return options of a scenario or a plan, with files under their names in the request.

        The options that name files are declared as such; each may have several values.

        Raises
        ------
        InputError : a file that cannot be read
        """
        return {name: self._each(naming().get(field_of(str(name))), value) for name, value in options.items()}

    def of_request(self, request: type, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a request, with files under their names in it.

        Raises
        ------
        InputError : a file that cannot be read
        """
        fields = declared(request)
        kinds = _naming(fields)
        return {
            name: sent(value, self)
            if name in fields and (sent := fields[name].info.sent)
            else self._each(kinds.get(name), value)
            for name, value in given.items()
        }

    def of_law(self, text: Any) -> Any:
        """Return the text of a distribution of times, with the file of ``empirical:FILE`` replaced."""
        law, colon, path = str(text).partition(":")
        if not isinstance(text, str) or law.strip() != LAW_OF_A_FILE or not path:
            return text
        return f"{law}{colon}{self.add(path.removeprefix('file='))}"

    def of_times(self, law: Any) -> Any:
        """Return a distribution of times as text; the sample of an empirical one is sent as a file."""
        if not isinstance(law, Distribution):
            return self.of_law(law)
        if not isinstance(law, Empirical):
            pairs = zip(law.law.parameters, law.values, strict=True)
            return f"{law.name}:" + ",".join(f"{key}={value!r}" for key, value in pairs)
        times = "\n".join(map(repr, law.sample)).encode()
        return f"{LAW_OF_A_FILE}:{self._taken(law.source, 'sample.txt', times)}"

    def of_network(self, name: Any) -> Any:
        """Return the name of a network; a file, or a folder with a ``config.json``, is sent along."""
        if not isinstance(name, (str, Path)) or not is_file(str(name)):
            return name
        path = Path(name)
        if os.path.isfile(path / "config.json"):
            path /= "config.json"
        if path.name == "config.json":  # such a network is called by its folder
            return self._taken(str(name), f"{path.resolve().parent.name}.json", read_bytes(path, LARGEST))
        content = read_bytes(path, LARGEST)
        if path.suffix.lower() == ".onnx":
            from perfmodel.workloads.onnx_file import without_weights

            content = without_weights(path, content)
        return self._taken(str(name), path.name, content)

    def add(self, path: str | Path) -> str:
        """Add a file to the request and return its name there.

        Raises
        ------
        InputError : it cannot be read
        """
        return self._taken(str(path), Path(path).name, read_bytes(path, LARGEST))

    def in_answer(self, answer: Any) -> Any:
        """Return an answer or error with the names of files in the request replaced by local paths."""
        if not self._paths:
            return answer
        if isinstance(answer, str):
            for sent, path in self._paths.items():
                answer = answer.replace(sent, path)
            return answer
        if isinstance(answer, list):
            return [self.in_answer(each) for each in answer]
        if isinstance(answer, dict):
            return {self.in_answer(key): self.in_answer(value) for key, value in answer.items()}
        return answer

    def _each(self, take: str | None, value: Any) -> Any:
        """Return a value of an option, with its files added to the request."""
        if take is None or value is None:
            return value
        if isinstance(value, (list, tuple)):
            return [self._each(take, each) for each in value]
        if take == "law":
            return self.of_times(value)
        return self.of_network(value) if take == "network" else self.add(value)

    def _taken(self, path: str, name: str, content: bytes) -> str:
        """Return the name in the request for a file, adding its content if it is new."""
        for sent, known in self._paths.items():
            if known == path:
                return sent
        sent = f"file-{len(self._paths) + 1}/{name}"
        self._paths[sent] = path
        self.contents[sent] = sent_content(content)
        return sent


@cache
def naming() -> dict[str, str]:
    """Return the options that may name a file, by field: ``file``, ``network`` or ``law``."""
    return _naming({**declared(Run), **declared(Scenario)})


def _naming(fields: Mapping[str, Declared]) -> dict[str, str]:
    """Return the fields that may name a file: ``file``, ``network`` or ``law``."""
    return {
        field: "file" if one.info.file else "law" if one.info.law else "network"
        for field, one in fields.items()
        if one.info.file or one.info.law or one.info.offers == "workloads"
    }
