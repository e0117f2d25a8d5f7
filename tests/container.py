"""The Dockerfile as instructions, for tests on machines without Docker."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Stage(NamedTuple):
    """One stage: the one it starts from, and its instructions in order."""

    base: str
    instructions: list[tuple[str, str]]

    def last(self, word: str) -> str:
        """Return what the last instruction of a kind says."""
        return [rest for name, rest in self.instructions if name == word][-1]


def stages() -> dict[str, Stage]:
    """Return the stages of the Dockerfile by name."""
    result: dict[str, Stage] = {}
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            result[name] = current = Stage(base, [])
        elif result and word and not word.startswith("#"):
            current.instructions.append((word, rest.strip()))
    return result


def copied() -> list[str]:
    """Return the files and folders that the wheel is built from."""
    copies = [rest.split()[:-1] for word, rest in stages()["wheel"].instructions if word == "COPY"]
    return [name for names in copies for name in names]


def copy_sources(target: Path) -> None:
    """Copy what the Dockerfile copies, as its first stage has it."""
    without = shutil.ignore_patterns("__pycache__")
    for name in copied():
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=without)
        else:
            shutil.copy(source, target / name)


def command(stage: str) -> list[str]:
    """Return the words that a container of a stage runs."""
    both = stages()
    return [*json.loads(both["installed"].last("ENTRYPOINT")), *json.loads(both[stage].last("CMD"))]


def health_check(stage: str) -> list[str]:
    """Return the words that say whether a container of a stage is well."""
    words: list[str] = json.loads(stages()[stage].last("HEALTHCHECK").partition("CMD ")[2])
    return words
