"""Random command lines: each ends in an answer or a refusal of two lines, never in a traceback.

``python -m tests.fuzz 14000 --seed 1`` runs so many over all commands and options, in this process.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
from click.testing import CliRunner

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import COMMANDS, command_of, main

LONGEST = 60
"""Seconds of one command on a busy machine; they are counted, and do not fail."""
MOST_LINES = 4
"""Of a refusal: what is wrong, how to get help; and warnings before it."""
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "16",
    "32",
    "64",
    "256",
    "1000",
    "-1",
    "1.5",
    "1e3",
    "1e18",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "0x10",
    "1_000",
    "٣",
    "½",
    "+4",
    "1,2,4",
    "1-8",
    "8-64:8",
]
NUMBERS += ["9" * 400, "9" * 5000, "", " ", "1-99999999999", "8-1", "1,,2", "1e-300", "1-1000000"]
QUANTITIES = [
    "1s",
    "145ms",
    "0.5s",
    "10m",
    "2h",
    "3d",
    "100MB",
    "1GiB",
    "25Gbit/s",
    "10GB/s",
    "5us",
    "76%",
    "150%",
    "1e400s",
    "-1s",
    "0s",
    "1QB",
    "nans",
    "100USD",
    "$500",
]
WORDS = [
    "",
    " ",
    "none",
    "all",
    "auto",
    "a=b",
    "=",
    ":",
    "@",
    "-",
    "--",
    "a\0b",
    "\u202ex",
    "naïve",
    "🜁",
    "\udcff\udcfe",
]
WORDS += [
    "x" * 5000,
    "{[]}",
    "'; drop",
    "%s%n",
    "\x1b[31m",
    "lognormal:cv=0.05",
    "pareto:scale=1,shape=0.9",
    "gamma:shape=2",
]
WORDS += [
    "two-point:slow=3,probability=0.01",
    "empirical:times.csv",
    "normal:mean=1,std=9",
    "uniform:low=0,high=0",
]
WORDS += [
    "weibull:shape=0.02",
    "exponential:rate=1e-300",
    "iteration_time=0.145s@1",
    "samples_per_second=400@8",
]
WORDS += [
    "iteration_time=nan@1",
    "iteration_time=1s@0",
    "pytorch@2020",
    "tensorflow-xla@1",
    "pytorch@99999999999",
    "1:4",
    "4:4",
]
WORDS += [
    "workload=vgg16",
    "gpus=8",
    "gpus=nan",
    "x.y.z=1",
    "intra_link.bandwidth=2",
    "jitter=[[1]]",
    "resnt50",
]


class Option(NamedTuple):
    """One parameter of a command."""

    name: str
    flag: bool
    choices: tuple[str, ...]
    argument: bool
    type: click.ParamType


class Failure(NamedTuple):
    """A command that ended as none may."""

    words: list[str]
    why: str


def commands() -> dict[tuple[str, ...], list[Option]]:
    """Return the options of every command, by its words."""
    found: dict[tuple[str, ...], list[Option]] = {}
    for name in COMMANDS:
        command = command_of(name)
        inside = getattr(command, "commands", None)
        for words, each in (
            [((name, part), inside[part]) for part in inside] if inside else [((name,), command)]
        ):
            found[words] = [_option(parameter) for parameter in each.params]
    return found


def _option(parameter: click.Parameter) -> Option:
    choices = tuple(map(str, getattr(parameter.type, "choices", ())))
    names = [*parameter.opts, *parameter.secondary_opts]
    flag = bool(getattr(parameter, "is_flag", False))
    return Option(" ".join(names), flag, choices, isinstance(parameter, click.Argument), parameter.type)


def files(folder: Path) -> list[str]:
    """Make files of every odd kind in a folder and return their names, those of folders too."""
    contents: dict[str, bytes] = {
        "times.csv": b"0.1\n0.2\n0.15\n",
        "job.toml": b'workload = "vgg16"\ngpus = 8\n',
        "odd.toml": b"gpus = nan\nworkload = []\n[x]\ny = 1979-05-27\n",
        "deep.toml": b"a." * 3000 + b"a = 1",
        "list.toml": b"gpus = [1, 2]\nlocal-batch-size = [8, 1e400]\n",
        "quote.toml": b'[scenario]\ngpus = 8\n[[claims]]\nquantity = "mfu"\nvalue = nan\n',
        "config.json": b'{"model_type": "gpt2", "n_embd": 8, "n_layer": 2, "n_head": 2, '
        b'"vocab_size": 9, "n_positions": 8}',
        "llama.json": b'{"model_type": "llama", "hidden_size": 1e400, "num_hidden_layers": true}',
        "trace.json": b'{"traceEvents":[{"cat":"kernel","name":"k","ts":1,"dur":2,"args":{"device":0}}]}',
        "steps.json": b'{"traceEvents":[{"cat":"kernel","name":"k","ts":1,"dur":2,"pid":0},'
        b'{"cat":"cpu_op","name":"ProfilerStep#1","ts":0,"dur":5},{"cat":"kernel","name":"nccl","ts":1e308,"dur":1e308,"pid":0}]}',
        "nothing.json": b"{}",
        "layers.csv": b"name,kind,forward_flops,tensors\na,linear,1e9,500000\n",
        "tensors.csv": b"name,kind,tensors,forward_flops,saved_elements\na,conv,9408 64,1e300,1e300\n",
        "runs.csv": b"run_id,source\n1,2\n",
        "model.onnx": b"\x08\x07\x12\x00",
        "junk.sqlite": b"SQLite format 3\x00" + bytes(range(256)),
        "bytes.csv": bytes(range(256)),
        "empty": b"",
        "nccl.txt": b"# nThread 1 nGpus 8\n 1024 256 float sum -1 10.0 0.10 0.18 0\n",
        "k80.toml": b'id = "k80"\nname = "x"\n',
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    made = [*contents, "folder", "loop", ".", "missing.csv", "no/such.toml"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.csv")
        (folder / "zero.toml").symlink_to("/dev/zero")
        made += ["pipe.csv", "zero.toml"]
    return made


class Fuzzer:
    """Makes command lines, the same for the same seed and files."""

    def __init__(self, seed: int, made: list[str]) -> None:
        self.random = random.Random(seed)
        self.files, self.commands = made, commands()
        catalogue = Catalogue.built_in()
        self.pools = {
            "accelerator": catalogue.ids("accelerators"),
            "node": catalogue.ids("nodes"),
            "link": catalogue.ids("links"),
            "workload": ["resnet50", "vgg16", "bert-large", "gpt2", "alexnet"],
        }
        self.names = [name for pool in self.pools.values() for name in pool]
        self.names += ["v100", "V100", "a100", "imagenet"]

    def line(self) -> list[str]:
        """Return the words of one command line."""
        words = self.random.choice([*self.commands, ("predict",), ("scale",), ("compare",)])
        options = self.commands[words]
        line = list(words)
        for option in options:
            if option.argument and self.random.random() < 0.9:
                line += [self._value(option) for _ in range(self.random.choice((1, 1, 2)))]
        named = [option for option in options if not option.argument]
        for option in self.random.sample(named, min(len(named), self.random.randrange(6))):
            line.append(self.random.choice(option.name.split()))
            if not option.flag and self.random.random() < 0.97:
                line.append(self._value(option))
        if self.random.random() < 0.03:
            line.insert(self.random.randrange(1, len(line) + 1), self._value(None))
        return self._short(words, line)

    def _short(self, words: tuple[str, ...], line: list[str]) -> list[str]:
        """Keep out what takes minutes by design: a fit, a report, a server, an emulation in real time."""
        if words in (("app",), ("serve",)):
            line.append("--check")
        if words == ("calibrate",):
            line += ["--times", self.random.choice(("times.csv", "empty"))]
        if words == ("validate",):
            line = [word for word in line if word not in ("--report", "--out-of-sample")]
            line += ["--data", self.random.choice(self.files)]
        if words == ("emulate",):
            line += ["--steps", "1", "--speed", "1e9"]
        return line

    def _value(self, option: Option | None) -> str:
        chance = self.random.random()
        if option is not None and option.choices and chance < 0.8:
            return self.random.choice(option.choices)
        if option is not None and chance < 0.8:
            return self._fitting(option)
        text = self._any()
        if chance > 0.97 and text:
            at = self.random.randrange(len(text))
            text = text[:at] + chr(self.random.randrange(1, 0x3000)) + text[at + 1 :]
        return text

    def _any(self) -> str:
        return self.random.choice(
            self.random.choice([NUMBERS[:13], NUMBERS, QUANTITIES, WORDS, self.names, self.names, self.files])
        )

    def _fitting(self, option: Option) -> str:
        """A value that the option's own type takes, of the kind its name speaks of."""
        pool = next((pool for name, pool in self.pools.items() if name in option.name), None)
        for _ in range(9):
            text = self.random.choice(pool) if pool else self._any()
            with contextlib.suppress(click.ClickException, ValueError, TypeError):
                option.type.convert(text, None, None)
                return text
        return self._any()


class Late(BaseException):
    """A command took too long; no error that a command would catch."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End by ``Late`` what takes longer, where the system has alarms."""

    def late(*_: object) -> None:
        raise Late

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(words: list[str]) -> tuple[int | str, str | None]:
    """Run one command; return its exit code, and what is wrong with how it ended."""
    try:
        with at_most(LONGEST):
            done = CliRunner().invoke(main, words)
    except Late:
        return "slow", None
    error = done.exception
    if error is not None and not isinstance(error, SystemExit):
        trace = traceback.format_tb(error.__traceback__)[-2:]
        return "traceback", f"{type(error).__name__}: {error}\n{''.join(trace)}"[:2000]
    if "Traceback" in done.output:
        return "traceback", done.output[-2000:]
    if done.exit_code not in (0, 1, 2):
        return done.exit_code, f"exit code {done.exit_code}: {done.stderr[-500:]}"
    if done.exit_code == 2 and not 1 <= len(done.stderr.splitlines()) <= MOST_LINES:
        return 2, f"a refusal of {len(done.stderr.splitlines())} lines: {done.stderr[:800]}"
    if done.exit_code == 2 and done.stdout:
        return 2, f"refused after output: {done.stdout[:200]} {done.stderr[:200]}"
    if len(done.stderr) > 20_000:
        return done.exit_code, "a message of over 20,000 characters"
    return done.exit_code, None


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[Failure]]:
    """Run so many command lines among odd files; return how they ended, and those that ended badly."""
    ended: Counter[str] = Counter()
    failures: list[Failure] = []
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            made = files(Path(folder))
            fuzzer = Fuzzer(seed, made)
            for _ in range(count):
                words = fuzzer.line()
                code, why = outcome(words)
                ended[str(code)] += 1
                if code == "slow":
                    print("slow:", words, file=sys.stderr)
                if why is not None:
                    failures.append(Failure(words, why))
        finally:
            os.chdir(before)
    return ended, failures


def _run() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    ended, failures = fuzz(asked.count, asked.seed)
    seen: Counter[str] = Counter()
    for failure in failures:
        place = failure.why.splitlines()[-1]
        seen[place] += 1
        if seen[place] <= 3:
            print(
                ascii(failure.words)[:1000],
                ascii(failure.why) if "\n" not in failure.why else failure.why,
                sep="\n",
            )
    print(f"{asked.count} command lines, seed {asked.seed}: {dict(ended)}; {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(_run())
