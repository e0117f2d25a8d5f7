"""The schedule of a scenario's pipeline, with the times of ``predict``."""

from __future__ import annotations

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.options.scenario import AnyScenario
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.transformers.pipeline import Pipeline, pipeline_of


def pipeline_of_scenario(
    scenario: AnyScenario, catalogue: Catalogue | None = None, constants: Calibration | None = None
) -> Pipeline | None:
    """Return the schedule of a scenario's pipeline; None without pipeline parallelism.

    Parameters
    ----------
    scenario, catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : as for ``predict``; a step with too many passes to simulate

    Examples
    --------
    >>> job = {"workload": "llama-2-7b", "gpus": 8, "pipeline_parallel": 4, "global_batch_size": 16}
    >>> pipeline = pipeline_of_scenario(job)
    >>> len(pipeline.schedule.stages), pipeline.schedule.micro_batches
    (4, 8)
    """
    return pipeline_of(*settled(scenario, Catalogue.of(catalogue), constants_of(constants)))
