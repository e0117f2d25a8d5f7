"""From an MLPerf submission to the scenario that asks for it: rules as data, none of them learned."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from perfmodel.accuracy.mlperf_rows import ROUNDS, Submission
from perfmodel.accuracy.scenarios import Refused, named
from perfmodel.link_caveats import GENERIC_NODE
from perfmodel.prediction import predict
from perfmodel.recipes import benchmarks
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue

IMAGES = 1_281_167
"""In one epoch of ImageNet."""


class Software(NamedTuple):
    """What ran a submission: all that is given must hold; texts are sought in lower case."""

    name: str
    """Key of ``FRAMEWORKS``; the year is the round's."""
    benchmark: str
    text: str = ""
    """In the framework or the system's name."""
    last_year: int = 9999


SOFTWARE = (
    # who lists the containers of several benchmarks trains ResNet-50 in MXNet's
    Software("mxnet-ngc", "resnet50", "mxnet"),
    Software("tensorflow", "resnet50", "tensorflow"),
    Software("paddle-ngc", "resnet50", "paddle"),
    # all others submit NVIDIA's code, whatever their row calls it: MXNet for ResNet-50, PyTorch for BERT
    Software("mxnet-ngc", "resnet50"),
    Software("pytorch-apex", "bert", last_year=2020),
    Software("pytorch-ngc", "bert"),
)
"""The first that matches is taken."""


class Benchmark(NamedTuple):
    """How a benchmark is trained."""

    workload: str
    optimizer: str
    overlap: str
    sequence_length: int | None = None
    samples_per_epoch: float = 1.0
    """1 where samples are counted."""


BENCHMARKS = {
    # LARS moves what SGD moves, and two norms
    "resnet50": Benchmark("resnet50-v1.5", "sgd", "fused", samples_per_epoch=IMAGES),
    # of NVIDIA's configurations that could be read all but one, of v1.0, skip the padding: --unpad
    "bert": Benchmark("bert-large", "lamb", "bucketed", sequence_length=benchmarks()["bert"].sample_tokens),
}

COMMON: dict[str, Any] = {
    "precision": "fp16",  # half-precision gradients are sent, beside fp32 weights
    "algorithm": "auto",  # what NCCL would choose
    "input": "synthetic",  # DALI decodes on the accelerator, ahead
    "strategy": "all-reduce",
}
"""Options of every submission."""

IN_NETWORK = {"dgxa100_n": "v1.1"}
"""In the system's name -> first round in which switches between nodes added: NVIDIA's own configurations of
ResNet-50 and BERT on 128 and 540 nodes ask for them (``SBATCH_NETWORK=sharp``), those of v0.7 do not."""

NODES = {"dgx2h": "dgx-2h", "nd96amsr": "azure-nd96amsr_a100_v4", "DSS8440": "dell-dss8440"}
"""In the system's name -> the machine, where it is not the one the accelerator is usually sold in."""

TARGETS = {("resnet50", "v0.5"): "top-1 0.749", ("bert", "v0.7"): "masked-LM accuracy 0.712"}
"""Targets of earlier rounds, where they differ."""
PRESENT_TARGETS = {"resnet50": "top-1 0.759", "bert": "masked-LM accuracy 0.720"}


class Evaluation(NamedTuple):
    """What the rules ask to be evaluated on the way to the target."""

    samples: int
    """Of one evaluation."""
    first_round: str = ROUNDS[0]
    start: float = 0.0
    """Samples trained on before the first."""
    interval: float = 0.0
    """Samples between two; 0: what the present rule says of the batch."""

    def evaluations(self, samples_to_target: float, global_batch_size: float) -> int:
        """Evaluations until the target is met, the last one among them.

        Examples
        --------
        Every 4 epochs of a million over 40 epochs:

        >>> Evaluation(50_000, interval=4e6).evaluations(40e6, 1024)
        10

        BERT in batches of 448: 5 % of 3,103,143 is 155,157, rounded down to 150,000.

        >>> Evaluation(10_000).evaluations(3e6, 448)
        20
        """
        interval = self.interval or math.floor(0.05 * (230.23 * global_batch_size + 3e6) / 25e3) * 25e3
        start = self.start or interval
        return 1 + max(math.ceil((samples_to_target - start) / interval), 0)


EVALUATIONS = {
    # training_rules.adoc of mlcommons/training_policies, version 0.7: every 4 epochs
    "resnet50": (Evaluation(50_000, interval=4 * IMAGES),),
    # the same: at 3M samples, then every 500K; since v1.0 by the batch, as submitted code has the rule
    "bert": (Evaluation(10_000, start=3e6, interval=5e5), Evaluation(10_000, first_round="v1.0")),
}
"""The last one up to the submission's round is taken."""


def evaluation_of(submission: Submission) -> Evaluation:
    """Return the rule of evaluation a submission was under."""
    held = ROUNDS.index(submission.round)
    rules = [e for e in EVALUATIONS[submission.benchmark] if ROUNDS.index(e.first_round) <= held]
    return rules[-1]


def target_of(submission: Submission) -> str:
    """Return the quality that the round asked for."""
    key = submission.benchmark, submission.round
    return TARGETS.get(key, PRESENT_TARGETS[submission.benchmark])


def framework_of(submission: Submission) -> str:
    """Return ``NAME@YEAR`` of what ran a submission."""
    text = f"{submission.framework} {submission.system}".lower()
    for rule in SOFTWARE:
        if rule.benchmark == submission.benchmark and rule.text in text and submission.year <= rule.last_year:
            return f"{rule.name}@{submission.year}"
    raise Refused("unknown software", submission.framework)


@lru_cache(maxsize=1024)
def scenario_of_submission(submission: Submission, catalogue: Catalogue) -> Scenario:
    """Return the scenario of a submission, from its configuration alone.

    A local batch that does not fit into memory is split into the fewest micro-batches that do.

    Raises
    ------
    Refused : an accelerator or machine nobody specified
    """
    benchmark = BENCHMARKS[submission.benchmark]
    try:
        accelerator = named("accelerators", submission.accelerator, catalogue)
    except Refused:
        raise Refused("accelerator without a spec", submission.accelerator) from None
    intra, inter = (
        link and named("links", link, catalogue) for link in (submission.intra_link, submission.inter_link)
    )
    chosen = {
        "workload": benchmark.workload,
        "optimizer": benchmark.optimizer,
        "overlap": benchmark.overlap,
        "sequence_length": benchmark.sequence_length,
        "framework": framework_of(submission),
        "accelerator": accelerator,
        "node": _node(submission, catalogue),
        "accelerators_per_node": submission.accelerators_per_node,
        "world_size": submission.world_size,
        "intra_link": intra or None,
        "inter_link": inter or None,
        "nics": submission.nics,
        **COMMON,
        "algorithm": _algorithm(submission),
    }
    given = {key: value for key, value in chosen.items() if value is not None}
    return _fitting(given, submission.local_batch_size, catalogue)


def _algorithm(submission: Submission) -> str:
    held = ROUNDS.index(submission.round)
    for text, first in IN_NETWORK.items():
        if text in submission.system and submission.nodes > 1 and held >= ROUNDS.index(first):
            return "switch-tree"
    return str(COMMON["algorithm"])


def _node(submission: Submission, catalogue: Catalogue) -> str:
    for text, node in NODES.items():
        if text in submission.system:
            return node
    node = catalogue.accelerator(submission.accelerator).usual_node or GENERIC_NODE
    if catalogue.node(node).accelerators < submission.accelerators_per_node:
        node = GENERIC_NODE
    if catalogue.node(node).accelerators < submission.accelerators_per_node:
        raise Refused("no machine that large", f"{submission.accelerators_per_node} accelerators")
    return node


def _fitting(given: dict[str, Any], local_batch_size: int, catalogue: Catalogue) -> Scenario:
    """The scenario with the fewest micro-batches that fit; with one sample each where none does."""
    for steps in range(1, local_batch_size + 1):
        micro, rest = divmod(local_batch_size, steps)
        if rest:
            continue
        scenario = Scenario.model_construct(**given, local_batch_size=micro, accumulation_steps=steps)
        if predict(scenario, catalogue).memory.fits:
            break
    return scenario
