"""A measured profile: numbers of a user's own trace, in a file that ``predict --profile`` reads."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import LARGEST_OPTIONS, parse_toml, read_text, version
from perfmodel.core.files.writing import write_whole
from perfmodel.core.records.record import Record, Within

MEASURES = (
    "computation",
    "launch_overhead",
    "idle_time",
    "input_time",
    "loader_time",
    "overlap",
    "jitter",
    "shared_jitter",
)
"""Tables of a profile's file that hold one number."""


class Measure(Record):
    """A measured number with its standard deviation and basis."""

    value: Annotated[float, Within(ge=0, allow_inf_nan=False)]
    deviation: Annotated[float, Within(ge=0, allow_inf_nan=False)]
    """Standard deviation, in the unit of the value."""
    basis: str


class LinkMeasure(Record):
    """Start-up time and bandwidth of a ring, from messages of different sizes."""

    latency: Measure
    """Time of an all-reduce of an empty message [s]."""
    bandwidth: Measure
    """Bus bandwidth [B/s]."""
    group_size: Annotated[int, Within(ge=2)]


class Profile(Record):
    """Measured numbers that replace the model's own; those not measured are absent."""

    made_by: str
    """Program that wrote the file."""
    files: list[str]
    """Names of the files that were measured."""
    workload: str
    accelerator: str
    precision: str
    local_batch_size: Annotated[int, Within(ge=1)]
    accumulation_steps: Annotated[int, Within(ge=1)] = 1
    input: Literal["synthetic", "real"] | None = None
    """Whether the measured loop read samples from a loader; None if unknown."""
    loader_workers: Annotated[int, Within(ge=0)] | None = None
    """Loader workers of the measured run; 0 is the training process itself, None unknown."""
    computation: Measure | None = None
    """Busy time of one step over the model's [1]."""
    launch_overhead: Measure | None = None
    """Gaps between the kernels of one step [s]."""
    link: LinkMeasure | None = None
    """An all-reduce of one group of ranks."""
    overlap: Measure | None = None
    """Share of the communication hidden behind computation [1]; for information only: it depends on the
    network, and the model computes its own."""
    jitter: Measure | None = None
    """Standard deviation over mean of the steps [1]; of several ranks, what is independent between them."""
    shared_jitter: Measure | None = None
    """The part of it that all ranks share [1]; known from traces of several ranks."""
    input_time: Measure | None = None
    """Time that a step waits for samples [s]; used for real samples with the same number of workers."""
    loader_time: Measure | None = None
    """Time of one worker for the samples of one step [s]: predicts other numbers of workers."""
    idle_time: Measure | None = None
    """Time of a step outside kernels, short gaps and waiting for samples [s]: time of the host and of its
    profiler.  Not used if samples were real in the measurement and are synthetic in the prediction, which
    has no copies of samples."""

    def to_json(self) -> str:
        """Return what ``perfmodel calibrate --json`` prints of a trace or of times."""
        return self.model_dump_json()

    def write(self, path: str | Path) -> None:
        """Write the file that a scenario's ``profile`` names, whole or not at all.

        Raises
        ------
        InputError : it cannot be written
        """
        write_whole(Path(path), to_toml(self))

    def __repr__(self) -> str:
        known = [name for name in (*MEASURES, "link") if getattr(self, name) is not None]
        return (
            f"<Profile: {self.workload} on {self.accelerator}, {self.precision}, batch "
            f"{self.local_batch_size} each, from {', '.join(self.files)}: {', '.join(known)}>"
        )

    __str__ = __repr__

    @property
    def measures_input(self) -> bool:
        """Whether the profile has the time that a step waits for real samples."""
        return self.input == "real" and self.input_time is not None


def read_profile(path: str) -> Profile:
    """Return the profile in a TOML file, cached until the file changes.

    Raises
    ------
    InputError : the file cannot be read, a key is unknown or missing, a value does not fit
    """
    return _parsed_profile(path, *version(path))


@lru_cache(maxsize=64)
def _parsed_profile(path: str, changed: int, size: int) -> Profile:
    """Read and check a profile; the time and size of the file are part of the cache's key."""
    from pydantic import ValidationError

    try:
        text = read_text(path, LARGEST_OPTIONS)
        if text.lstrip().startswith("{"):  # no TOML does
            raise refusal("profile.json").under(path)
        return Profile.model_validate(parse_toml(text, path))
    except ValidationError as error:
        from perfmodel.core.records.mistakes import refused

        after = "; `perfmodel calibrate --trace` writes such a file"
        raise refused(error, Profile).under(path, after=after) from None


def to_toml(profile: Profile) -> str:
    """Return the text of a profile's file."""
    lines = [
        "# Measured: read by `perfmodel predict --profile`.  Times in seconds, rates in bytes a second.",
        f'made_by = "{profile.made_by}"',
        "files = [" + ", ".join(_quoted(name) for name in profile.files) + "]",
        *(f"{key} = {_quoted(getattr(profile, key))}" for key in ("workload", "accelerator", "precision")),
        f"local_batch_size = {profile.local_batch_size}",
    ]
    if profile.accumulation_steps != 1:
        lines.append(f"accumulation_steps = {profile.accumulation_steps}")
    if profile.input is not None:
        lines.append(f'input = "{profile.input}"')
    if profile.loader_workers is not None:
        lines.append(f"loader_workers = {profile.loader_workers}  # 0: the training process itself")
    for key in MEASURES:
        lines += _measure_lines(key, getattr(profile, key))
    if profile.link is not None:
        lines += ["", "[link]", f"group_size = {profile.link.group_size}"]
        lines += _measure_lines("link.latency", profile.link.latency) + _measure_lines(
            "link.bandwidth", profile.link.bandwidth
        )
    return "\n".join(lines) + "\n"


def _measure_lines(name: str, measure: Measure | None) -> list[str]:
    """Return the lines of one measured number in a profile's file."""
    if measure is None:
        return []
    return [
        "",
        f"[{name}]",
        f"value = {measure.value:.6g}",
        f"deviation = {measure.deviation:.3g}",
        f"basis = {_quoted(measure.basis)}",
    ]


def _quoted(text: str) -> str:
    """Return a text as a TOML string."""
    kept = "".join(c if c.isprintable() else " " for c in text)
    return '"' + kept.replace("\\", "\\\\").replace('"', '\\"') + '"'
