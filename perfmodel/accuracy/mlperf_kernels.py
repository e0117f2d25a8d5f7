"""Kernels that submitted configurations name, as data; no number is learned from a result.

It goes into no prediction of the tables; it tells how much of what they miss is software.
"""

from __future__ import annotations

import copy
import dataclasses
from functools import lru_cache
from typing import Literal, NamedTuple

from perfmodel.accuracy.mlperf_rows import ROUNDS
from perfmodel.accuracy.mlperf_transformers import step_time
from perfmodel.accuracy.scenarios import with_options
from perfmodel.calibration import Calibration, calibration
from perfmodel.prediction.assemble import time_of
from perfmodel.resolve import resolve
from perfmodel.specs.framework import parse_framework
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.specs.workload import Layer, Workload

Changes = frozenset[Literal["joined", "replayed", "transformer"]]

UNJOINED = "pytorch-ngc"
"""A framework without fused kernels, with the layouts that matrix units need."""


class Joined(NamedTuple):
    """A layer fused into another kernel, with the shares of its traffic that are left."""

    benchmark: str
    first_round: str
    kind: str = ""
    """Of the layer, or any."""
    ending: str = ""
    """Of the layer's name, or any."""
    forward: float = 0.0
    backward: float = 0.0


JOINED = (
    # --fuse-bn-relu, --fuse-bn-add-relu: a norm applies what follows, and reads one operand of an addition
    Joined("resnet50", "v0.5", kind="activation"),
    Joined("resnet50", "v0.5", kind="add", forward=1 / 3, backward=1 / 3),
    # resnet-v1b-normconv-fl, resnet-v1b-stats-fl: the convolution before a norm has taken its statistics
    Joined("resnet50", "v0.6", kind="norm", forward=2 / 3, backward=1.0),
    # --unpad_fmha: one kernel for scores, softmax, dropout and context, over packed queries, keys, values.
    # The forward pass writes the scores once, the backward pass reads them once.  Shares are those of 256
    # tokens, where scores are two thirds of what either product moves
    Joined("bert", "v1.0", ending="attention.scale"),
    Joined("bert", "v1.0", ending="attention.softmax"),
    Joined("bert", "v1.0", ending="attention.dropout"),
    Joined("bert", "v1.0", ending="attention.heads_query"),
    Joined("bert", "v1.0", ending="attention.heads_key"),
    Joined("bert", "v1.0", ending="attention.heads_value"),
    Joined("bert", "v1.0", ending="attention.merge"),
    Joined("bert", "v1.0", ending="attention.scores", forward=1.0, backward=2 / 3),
    Joined("bert", "v1.0", ending="attention.context", forward=1 / 3, backward=1 / 3),
    # --fused_dropout_add
    Joined("bert", "v1.1", ending="residual_dropout"),
)
"""From the round on whose configurations name it; read in mlcommons/training_results_v0.5 to _v1.1."""

GRAPHS = {"resnet50": "v0.7", "bert": "v1.0"}
"""First round with CUDA graphs: MXNET_EXPERIMENTAL_ENABLE_CUDA_GRAPH=1, --use_cuda_graph."""


def has_come(first_round: str, round_: str) -> bool:
    """Whether a round is the first or a later one.

    >>> has_come("v0.7", "v1.0"), has_come("v1.1", "v1.0")
    (True, False)
    """
    return ROUNDS.index(round_) >= ROUNDS.index(first_round)


@lru_cache(maxsize=32)
def joined(network: Workload, benchmark: str, round_: str) -> Workload:
    """Return a network as the kernels of a round's submissions compute it."""
    rules = [rule for rule in JOINED if rule.benchmark == benchmark and has_come(rule.first_round, round_)]
    return dataclasses.replace(network, layers=tuple(_joined(layer, rules) for layer in network.layers))


def _joined(layer: Layer, rules: list[Joined]) -> Layer:
    for rule in rules:
        if rule.kind in ("", layer.kind) and layer.name.endswith(rule.ending):
            launched = float(layer.kind in ("norm", "matmul"))
            return layer._replace(
                forward_elements=layer.forward_elements * rule.forward,
                backward_elements=layer.backward_elements * rule.backward,
                forward_kernels=layer.forward_kernels * launched,
                backward_kernels=layer.backward_kernels * launched,
            )
    return layer


def replayed(constants: Calibration) -> Calibration:
    """Return constants of a host that launches nothing: a graph was recorded, and is replayed."""
    learned = copy.copy(constants.efficiency)
    learned.dispatch_time = learned.iteration_overhead = 0.0
    return constants._replace(efficiency=learned)


def iteration_time(
    scenario: Scenario, benchmark: str, round_: str, catalogue: Catalogue, changes: Changes
) -> float:
    """Return the iteration time [s] with some of what a round's configurations say.

    Parameters
    ----------
    scenario : may be anchored
    changes : ``joined`` kernels, ``replayed`` graphs; neither changes anything before its round; BERT as a
        ``transformer``, from specs
    """
    if "transformer" in changes and benchmark == "bert" and scenario.anchor is None:
        return step_time(scenario, round_, catalogue)
    constants = calibration()
    if "joined" in changes:
        _, year = parse_framework(str(scenario.framework))
        scenario = with_options(scenario, framework=f"{UNJOINED}@{year}")
    setting = resolve(scenario, catalogue)
    if "joined" in changes:
        setting = setting._replace(workload=joined(setting.workload, benchmark, round_))
    if "replayed" in changes and has_come(GRAPHS[benchmark], round_):
        constants = replayed(constants)
    return time_of(setting, constants)
