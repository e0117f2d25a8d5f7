"""BERT's submissions by the model of transformers, with the software that their configurations name.

Nothing is learned from a submission: the numbers are those of ``transformers/``, learned from other runs, and
the facts are configurations' own (mlcommons/training_results_v0.7 to _v1.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.accuracy.mlperf_rows import ROUNDS
from perfmodel.specs.layout import Layout
from perfmodel.specs.stack import Stack
from perfmodel.transformers.architecture import dimensions_of
from perfmodel.transformers.job import Case, job_of
from perfmodel.transformers.machine import chip_of, fabric_on
from perfmodel.transformers.parameters import fitted
from perfmodel.transformers.software import Options, software_of
from perfmodel.transformers.step import step_of
from perfmodel.workloads import workload

if TYPE_CHECKING:
    from perfmodel.specs.scenario import Scenario
    from perfmodel.specs.store import Catalogue

SHARED_STATES = 1
"""Into ``SHARDING``: the distributed LAMB of all submissions that could be read."""
FIRST = Stack("early", fused=True, hides_data=True)
STACKS = {
    "v0.7": FIRST,
    # --unpad_fmha: one kernel for attention; --use_cuda_graph
    "v1.0": FIRST._replace(pace="tuned", launch="compiled", flash_from=0.0),
}
"""By the first round that they hold from."""


def step_time(scenario: Scenario, round_: str, catalogue: Catalogue) -> float:
    """Return the time of an iteration of a submission [s].

    Parameters
    ----------
    scenario : of the submission
    round_ : whose software is taken
    catalogue : hardware

    Raises
    ------
    InputError : a machine of which nothing between nodes is known
    """
    network = workload(str(scenario.workload), scenario.sequence_length)
    assert network.architecture is not None
    assert network.sequence_length is not None
    length, world = network.sequence_length, int(scenario.world_size)
    model = dimensions_of(network.architecture, length)
    fabric = fabric_on(
        catalogue,
        world,
        node=scenario.node,
        accelerator=scenario.accelerator,
        inter_link=scenario.inter_link,
        nics=scenario.nics,
    )
    if scenario.accelerators_per_node:
        held = float(min(scenario.accelerators_per_node, world))
        fabric = fabric._replace(per_node=held, domain=max(held, min(fabric.domain, world)))
    layout = Layout(
        data_parallel=world,
        sharding=SHARED_STATES if world > 1 else 0,
        micro_batch_size=scenario.local_batch_size,
        accumulation_steps=scenario.accumulation_steps or 1,
    )
    facts = [stack for first, stack in STACKS.items() if ROUNDS.index(first) <= ROUNDS.index(round_)][-1]
    chip = chip_of(fabric.accelerator)
    software = software_of(facts, chip, model, layout, Options(precision="fp16"))
    case = Case(model, layout, chip, software, fabric, length)
    return float(step_of(job_of(case), fitted().parameters).iteration_time)
