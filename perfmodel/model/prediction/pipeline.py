"""The schedule of a scenario's pipeline, as ``predict`` takes its times."""

from __future__ import annotations

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration, constants_of
from perfmodel.model.options.scenario import AnyScenario
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.transformers.pipeline import Pipeline, pipeline_of


def pipeline_of_scenario(
    scenario: AnyScenario, catalogue: Catalogue | None = None, constants: Calibration | None = None
) -> Pipeline | None:
    """Return the passes of every stage of a pipeline; None where there is none.

    Parameters
    ----------
    scenario, catalogue, constants : as of ``predict``

    Raises
    ------
    InputError : as ``predict``; a step of more passes than are drawn

    Examples
    --------
    >>> job = {"workload": "llama-2-7b", "gpus": 8, "pipeline_parallel": 4, "global_batch_size": 16}
    >>> pipeline = pipeline_of_scenario(job)
    >>> len(pipeline.schedule.stages), pipeline.schedule.micro_batches
    (4, 8)
    """
    return pipeline_of(*settled(scenario, Catalogue.of(catalogue), constants_of(constants)))
