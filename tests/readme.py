"""Keeps README.md and the pages of docs/ true: runs every command they show and writes what it prints.

``python -m tests.readme`` rewrites the files; the tests only compare.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import tempfile
from functools import partial
from pathlib import Path

from click.testing import CliRunner

from perfmodel.core.units import per_cent
from perfmodel.interfaces.cli import main
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

README = Path(__file__).parents[1] / "README.md"
PAGES = sorted(
    path
    for part in ("tutorials", "how-to", "guide", "accuracy")
    for path in (README.parent / "docs" / part).glob("*.md")
)
SHOWN_FILE = re.compile(r"```{code-block} \w+\n:caption: (\S+)\n\n(.*?)```\n", re.DOTALL)
_PYTHON = re.compile(r"(```pycon\n)(.*?)(```\n)", re.DOTALL)
_CONSOLE = re.compile(r"(```console\n)(.*?)(```\n)", re.DOTALL)
REPORT = README.parent / "validation" / "report.md"
_ACCURACY = re.compile(r"(<!-- accuracy -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
_LEDGER = re.compile(r"(<!-- ledger -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)
_TABLE = re.compile(r"(<!-- predictions -->\n)(.*?)(<!-- end -->\n)", re.DOTALL)


def _run(command: str) -> str:
    """Return what a command prints, its first lines where it ends with ``| head -12``."""
    command, _, most = command.partition(" | head -")
    result = CliRunner().invoke(main, shlex.split(command)[1:])
    assert result.exit_code in (0, 1), f"{command}: {result.output}"
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    return "\n".join(lines[: int(most) if most else None]).strip("\n") + "\n"


def _console(match: re.Match[str]) -> str:
    commands = [line for line in match[2].splitlines() if line.startswith("$ perfmodel")]
    if not commands:
        return match[0]
    return match[1] + "\n".join(f"{line}\n{_run(line[2:])}" for line in commands) + match[3]


def _predictions(match: re.Match[str]) -> str:
    rows = ["| workload | accelerator | 1 GPU | 8 GPUs | 32 GPUs |", "| --- | --- | ---: | ---: | ---: |"]
    for workload in ("resnet50", "vgg16"):
        for accelerator in ("k80", "p100-sxm2-16gb", "v100-sxm2-16gb", "a100-sxm4-80gb"):
            cells = []
            for gpus in (1, 8, 32):
                answer = predict(
                    Scenario(
                        workload=workload,
                        accelerator=accelerator,
                        precision="fp32",
                        local_batch_size=64,
                        world_size=gpus,
                    )
                )
                cells.append(
                    f"{answer.iteration_time * 1e3:.0f} ms, {answer.samples_per_second:,.0f}/s"
                    + (f", {per_cent(answer.scaling_efficiency)}" if gpus > 1 else "")
                )
            rows.append(f"| {workload} | {accelerator} | " + " | ".join(cells) + " |")
    return match[1] + "\n".join(rows) + "\n" + match[3]


def refreshed(text: str) -> str:
    """Return the README with every shown output made anew."""
    text = _TABLE.sub(_predictions, _CONSOLE.sub(_console, text))
    for block, heading in ((_LEDGER, "On rows that nobody had seen"), (_ACCURACY, "In short")):
        text = block.sub(partial(_from_report, heading), text)
    return text


def _from_report(heading: str, match: re.Match[str]) -> str:
    """The first table below a heading of the report."""
    table = REPORT.read_text("utf-8").split(f"## {heading}\n\n")[1].partition("|")[2]
    return match[1] + "|" + table.split("\n\n")[0] + "\n" + match[3]


def refreshed_page(text: str) -> str:
    """Return a page of the documentation with every shown output made anew, in an empty folder.

    What the page shows as a file, under its name, lies in that folder.  Python is one session.
    """
    session: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, content in SHOWN_FILE.findall(text):
            Path(name).write_text(content, "utf-8")
        text = refreshed(text)
        return _PYTHON.sub(lambda match: match[1] + _python(match[2], session) + match[3], text)


def _python(block: str, session: dict[str, object]) -> str:
    lines = []
    for example in doctest.DocTestParser().get_examples(block):
        first, *more = example.source.rstrip("\n").split("\n")
        lines += [f">>> {first}", *(f"... {line}".rstrip() for line in more)]
        with contextlib.redirect_stdout(io.StringIO()) as output:
            exec(compile(example.source, "<page>", "single"), session)
        lines += output.getvalue().splitlines()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    README.write_text(refreshed(README.read_text("utf-8")), "utf-8")
    for page in PAGES:
        page.write_text(refreshed_page(page.read_text("utf-8")), "utf-8")
