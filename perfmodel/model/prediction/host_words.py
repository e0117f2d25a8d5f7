"""What the host costs a step that it paces, and what would save it, as text."""

from __future__ import annotations

import math

from perfmodel.core.units import per_cent, show
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.step.evaluate import Step
from perfmodel.model.step.layer_rates import update_launches
from perfmodel.model.step.layers import layer_table


def host_text(setting: Setting, step: Step, constants: Calibration) -> str:
    """Return the launches of a host-bound step and the saving without them; empty for a transformer.

    Parameters
    ----------
    setting : of a data-parallel job
    step : its evaluation
    constants : as for ``step``
    """
    if has_layouts(setting.workload):
        return ""
    table, learned = layer_table(setting.workload), constants.efficiency
    of_update = float(update_launches(setting, learned, table.tensors))
    kernels = setting.accumulation_steps * table.all_kernels + of_update
    alone = step.work.alone(setting.accumulation_steps)
    paced = alone - learned.iteration_overhead * step.anchor_factor
    saved = max(0.0, paced * (1 - math.sqrt(1 - step.work.host_share))) / step.iteration_time
    return (
        f"the host starts {kernels:.0f} kernels, {of_update:.0f} of the update, at "
        f"{show(learned.dispatch_time, 's')} each: a larger batch or several models on the accelerator use "
        f"that time, a CUDA graph or a compiler, which start them at once, would save {per_cent(saved)}"
    )
