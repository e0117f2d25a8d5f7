"""The update that accelerators of a node share: each has a share of the parameters (distributed LAMB)."""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.step.computation import Computation


def shares_update(setting: Setting) -> bool:
    """Return whether accelerators of a node each update a share of a data-parallel job's parameters."""
    by_library = setting.strategy == "all-reduce" and setting.accelerator.collective_library is not None
    one_by_one = setting.updates is None and setting.layout is None
    return setting.framework.shares_update and by_library and one_by_one and has_layouts(setting.workload)


def with_own_update(setting: Setting, work: Computation) -> Computation:
    """Return the times of one accelerator with the update of its share of the parameters alone."""
    if not shares_update(setting):
        return work
    sharers = ops.minimum(setting.world_size, setting.accelerators_per_node)
    return work._replace(update_time=work.update_time / sharers)
