"""Communication in an iteration of a data-parallel job, by group of ranks."""

from __future__ import annotations

from perfmodel.core.choices import ONE_PROCESS
from perfmodel.model.prediction.result import Traffic
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import Step
from perfmodel.model.step.parts import communicates
from perfmodel.workloads.workload import Tables


def traffic_of(setting: Setting, step: Step) -> list[Traffic]:
    """Return the communication of replicas and tables; for one accelerator only that with servers."""
    if not communicates(setting):
        return []
    if setting.strategy == ONE_PROCESS:
        from perfmodel.model.step.one_process import traffic_bytes

        sizes = traffic_bytes(setting)
        return [
            Traffic.model_construct(
                group="replicas",
                collective=name.removesuffix("_time"),
                ranks=setting.world_size,
                messages=1.0,
                message_bytes=size,
                time=step.terms[name],
                exposed_time=step.terms[name],
            )
            for name, size in sizes.items()
        ]
    tables = setting.workload.tables
    rows = [] if tables is None else [_of_tables(setting, tables, step)]
    tables_time = sum(row.time for row in rows)
    gradients = Traffic.model_construct(
        group="replicas",
        collective=_collective(setting),
        ranks=setting.world_size,
        messages=1.0 if setting.updates is None else setting.updates.exchanges(setting.world_size),
        message_bytes=_sent_bytes(setting),
        time=step.communication_time - tables_time,
        exposed_time=step.exposed_communication_time - tables_time,
    )
    return [gradients, *rows]


def _of_tables(setting: Setting, tables: Tables, step: Step) -> Traffic:
    """Return the exchange of vectors of sharded tables and their gradients."""
    from perfmodel.model.step.tables import exchange_time, exchanged_bytes

    time = float(exchange_time(setting, tables, step.fabric))
    return Traffic.model_construct(
        group="tables",
        collective="all-to-all",
        ranks=setting.world_size,
        messages=2.0 * setting.accumulation_steps,
        message_bytes=float(exchanged_bytes(setting, tables)[0]),
        time=time,
        exposed_time=time,
    )


def _collective(setting: Setting) -> str:
    """Return the name of the collective of a job's gradients."""
    if setting.compression is not None:
        return setting.compression.kind.collective
    return "all-reduce" if setting.strategy == "all-reduce" else "push and pull"


def _sent_bytes(setting: Setting) -> float:
    """Return the message size of all gradients [B]; for an all-gather the total of all ranks."""
    if setting.compression is None:
        return float(setting.format.gradient_bytes * setting.workload.parameters)
    from perfmodel.model.step.compressed import sent_bytes

    gathers = setting.compression.kind.collective == "all-gather"
    return sum(sent_bytes(setting, setting.compression)) * (setting.world_size if gathers else 1)
