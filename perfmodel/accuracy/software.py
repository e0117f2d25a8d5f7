"""The framework of a measured run, from its source's words for it."""

from __future__ import annotations

import re
from typing import NamedTuple

from perfmodel.accuracy.runs import Run
from perfmodel.errors import InputError
from perfmodel.specs.framework import framework_id

VARIANTS = {
    ("ryujaehun", "resnet101"): "resnet101-v1.5",
    ("ryujaehun", "resnet152"): "resnet152-v1.5",
    ("ryujaehun", "googlenet"): "googlenet-bn",
    ("timm", "resnet101"): "resnet101-v1.5",
    ("timm", "resnet152"): "resnet152-v1.5",
    ("jcjohnson", "resnet101"): "resnet101-v1.5",
    ("jcjohnson", "resnet152"): "resnet152-v1.5",
    ("jcjohnson", "resnet200"): "resnet200-v1.5",
    ("jcjohnson", "alexnet"): "alexnet-grouped",
    ("mxnet-perf", "alexnet"): "alexnet-normalised",
}
"""(source, network as it says) -> the variant its code builds: torchvision's and timm's ResNets and those of
fb.resnet.torch carry the stride in the 3x3 convolution, torchvision's GoogLeNet is normalised, and
cnn-benchmarks times the two-tower AlexNet; MXNet's example joins its towers."""


class Rule(NamedTuple):
    """A framework, and the rows it ran: all that is given must hold; texts are sought in lower case."""

    name: str
    """Key of ``FRAMEWORKS``."""
    framework: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    """Any of these in the row's note."""
    transformer: bool = False
    first_year: int = 0
    last_year: int = 9999


RULES = (
    # its README sets TF_XLA_FLAGS=--tf_xla_auto_jit=2 for every benchmark, its folders of logs end in _XLA:
    # lambdal/lambda-tensorflow-benchmark at c17619db, README.md, lines 42 and 55
    Rule("tensorflow-xla", source="lambda-tf"),
    Rule("tensorflow-xla", notes=("with xla", "withxla", "xla enabled")),
    # its transformer scripts turn XLA on by default since 2021
    Rule("tensorflow-xla", "tensorflow", "nvidia-dle", transformer=True, first_year=2021),
    Rule("tensorflow", "tensorflow"),
    Rule("pytorch-channels-last", "pytorch", notes=("channels_last",)),
    Rule("pytorch-apex", "apex"),
    Rule("pytorch-apex", "pytorch", "nvidia-dle", last_year=2020),
    Rule("pytorch-ngc", "pytorch", "nvidia-dle"),  # its scripts train channels last since 2021
    Rule("pytorch", "pytorch"),
    Rule("mxnet-ngc", "ngc mxnet"),
    Rule("mxnet-ngc", "mxnet", "nvidia-dle"),
    Rule("mxnet", "mxnet"),
    Rule("paddle-ngc", "paddle", "nvidia-dle"),
    Rule("paddle", "paddle"),
    Rule("oneflow", "oneflow"),
    Rule("mindspore-fused", "mindspore", notes=("with graph kernel fusion",)),
    Rule("mindspore", "mindspore"),
    Rule("torch7-cudnn-4", "torch7", notes=("cudnn 4", "cudnn4")),
    Rule("torch7-cudnn-5.0", "torch7", notes=("cudnn 5.0", "cudnn5.0")),
    Rule("torch7", "torch7"),
)
"""The first that matches is taken."""


def software_of(run: Run, family: str) -> str | None:
    """Return ``NAME@YEAR`` of what ran ``run``, a network of ``family``; None where nobody knows it."""
    name = next((rule.name for rule in RULES if _fits(rule, run, family)), None)
    if name is None:
        try:
            name = framework_id(run.framework)
        except InputError:
            return None
    return f"{name}@{run.year}" if run.year and "@" not in name else name


def _fits(rule: Rule, run: Run, family: str) -> bool:
    note, year = run.note.lower(), run.year or 0
    return (
        rule.framework in run.framework.lower()
        and rule.source in ("", run.source)
        and (not rule.notes or any(text in note for text in rule.notes))
        and (not rule.transformer or family == "transformer")
        and rule.first_year <= year <= rule.last_year
    )


def optimizer_of(run: Run) -> str | None:
    """Return ``none`` where the source timed forward and backward alone."""
    return "none" if re.search(r"no optimizer step", run.note, re.IGNORECASE) else None
