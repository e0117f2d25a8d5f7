"""The measured runs of data-parallel training that fits learn from, with their settings."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.evidence.accuracy.ledger.held_out import UNSEEN
from perfmodel.evidence.accuracy.scenarios import Refused, measured_time, scenario_of_run
from perfmodel.evidence.accuracy.training_rows import TRUSTED, Run, shipped_runs
from perfmodel.evidence.accuracy.transformers.transformer_rows import TransformerRun
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.transformers.computation import case_of_whole


class Measured(NamedTuple):
    """A measured run, the setting by which the model predicts it, and its iteration time."""

    run: Run
    setting: Setting
    time: float
    """Measured iteration time [s]."""

    @property
    def is_alone(self) -> bool:
        """Whether the run used one accelerator; efficiencies are learned from such runs."""
        return self.run.world_size == 1

    @property
    def is_transformer(self) -> bool:
        """Whether the model times its computation by the layers of a transformer."""
        return has_layouts(self.setting.workload)


def measured(runs: Iterable[Run], catalogue: Catalogue, unseen: frozenset[str] = UNSEEN) -> list[Measured]:
    """Return the runs of trust A and B that the model can predict, in order, without ``unseen`` sources."""
    result = []
    for run in runs:
        time = measured_time(run)
        if run.trust not in TRUSTED or time is None or run.source in unseen:
            continue
        try:
            result.append(Measured(run, resolve(scenario_of_run(run, catalogue), catalogue), time))
        except (Refused, InputError):
            continue  # validate names each of them, with the reason
    return result


def whole_transformers(rows: Iterable[Measured]) -> list[TransformerRun]:
    """Return the runs of a whole transformer on one accelerator as runs of transformers.

    Only those with Adam: fits to transformers learn the update from Adam.
    """
    return [
        TransformerRun(
            run_id=row.run.run_id,
            source=row.run.source,
            workload=row.setting.workload.id,
            accelerator=row.setting.accelerator.id,
            precision=row.setting.precision,
            year=row.run.year or 0,
            series=row.run.source,
            time=row.time,
            case=case_of_whole(row.setting),
            reason=None,
            trust=row.run.trust,
            states_layout=True,
            states_memory=True,
            framework=row.setting.software_name,
        )
        for row in rows
        if row.is_alone and row.is_transformer and row.setting.optimizer == "adam"
    ]


@cache
def shipped_whole_transformers() -> tuple[TransformerRun, ...]:
    """Return the shipped runs of a whole transformer on one accelerator; read once."""
    alone = [run for run in shipped_runs() if run.world_size == 1]
    return tuple(whole_transformers(measured(alone, Catalogue.built_in())))
