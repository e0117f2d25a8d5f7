"""Claimed figures and jobs in words."""

from __future__ import annotations

from perfmodel.core.units import duration, show
from perfmodel.decide.quote.file import KINDS
from perfmodel.hardware.machine_words import accelerator_words, link_words
from perfmodel.hardware.software import parts
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.flops import Count
from perfmodel.model.transformers.layout_words import short
from perfmodel.workloads.catalogue import network_words

CONVENTION_WORDS: dict[Count, str] = {
    "causal": "as they are computed, without masked scores",
    "megatron": "with attention to all positions",
    "palm": "by PaLM's count, with attention to all positions and all parameters",
}
"""Each convention of counting FLOP, in words."""


def shown(value: float, kind: str, sample: str = "sample", per: str = "job") -> str:
    """Return a value of a claimed quantity with its unit, in words.

    >>> shown(323.2, "tokens_per_second", per="accelerator"), shown(3.7 * 86400, "time_to_train")
    ('323.2 tokens/s per accelerator', '3.7 days')
    >>> shown(2e-7, "cost_per_token"), shown(200e3, "cost_to_train")
    ('$0.20 a million tokens', '$200,000')
    """
    each = "" if per == "job" else f" per {per}"
    if kind in ("samples_per_second", "tokens_per_second"):
        unit = "tokens" if kind == "tokens_per_second" else f"{sample}s"
        return f"{value:,.0f} {unit}/s{each}" if value >= 1000 else f"{value:.4g} {unit}/s{each}"
    if kind in ("scaling_efficiency", "mfu"):
        return f"{100 * value:.3g} %"
    if kind == "time_to_train":
        return duration(value)
    if kind == "cost_per_token":
        return f"{_usd(1e6 * value)} a million tokens"
    if kind == "cost_to_train":
        return _usd(value)
    return f"{value:.4g}" if kind == "speedup" else f"{show(value, KINDS[kind].unit)}{each}"


def shown_range(low: float, high: float, kind: str, sample: str = "sample", per: str = "job") -> str:
    """Return two values of a claimed quantity as a range, with a common unit once.

    >>> shown_range(125e12, 164e12, "flops", per="accelerator"), shown_range(0.4, 0.5, "mfu")
    ('125 to 164 TFLOP/s per accelerator', '40 to 50 %')
    """
    first, last = (shown(each, kind, sample, per) for each in (low, high))
    number, _, unit = first.partition(" ")
    return f"{number} to {last}" if unit and last.endswith(f" {unit}") else f"{first} to {last}"


def _usd(value: float) -> str:
    """Return an amount in US dollars as text."""
    return f"${value:,.0f}" if value >= 1000 else f"${value:.2f}" if value >= 0.095 else f"${value:.2g}"


def job_words(setting: Setting) -> str:
    """Return network, machines, precision and batch of a job in short."""
    how = f"{setting.precision}, batch {setting.local_batch_size} each"
    if setting.layout is not None:
        samples = f"{setting.global_batch_size:,} {setting.workload.sample}s a step"
        how = f"{setting.precision}, {samples}, {layout_words(setting)}"
    return f"{network_words(setting.workload)} on {machine_words(setting)}, {how}"


def software_words(software: str) -> str:
    """Return software with its year in words.

    >>> software_words("mxnet-ngc@2022"), software_words("pytorch")
    ('mxnet-ngc (2022)', 'pytorch')
    """
    name, year = parts(software)
    return f"{name} ({year})" if year else name


def layout_words(setting: Setting) -> str | None:
    """Return the layout of a model-parallel transformer in short; None of a data-parallel job."""
    return None if setting.layout is None else short(setting.layout.words())


def machine_words(setting: Setting) -> str:
    """Return accelerators, nodes and network of a job in short."""
    between = f" in {setting.nodes} nodes with {setting.nics} x {link_words(setting.inter_link)}"
    machines = f"{setting.world_size} x {accelerator_words(setting.accelerator)}"
    return machines + (between if setting.domains > 1 else "")
