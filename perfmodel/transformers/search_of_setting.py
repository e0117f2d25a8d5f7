"""Every layout of a setting's transformer on a setting's machines."""

from __future__ import annotations

from perfmodel.resolve import Setting
from perfmodel.sharing import PRECISIONS
from perfmodel.transformers.evaluate import fabric_of_setting, network_of
from perfmodel.transformers.parameters import fitted
from perfmodel.transformers.search import SearchResult, search
from perfmodel.transformers.software import Options


def search_of_setting(setting: Setting, global_batch_size: int) -> SearchResult:
    """Return the layouts that fit, the fastest first; which one the setting has does not count.

    Parameters
    ----------
    setting : of a network that a stack shares out
    global_batch_size : samples of a step
    """
    model, length = network_of(setting.workload)
    return search(
        model,
        fabric_of_setting(setting),
        setting.framework,
        Options(PRECISIONS[setting.precision], adapter_rank=setting.scenario.lora or 0),
        fitted().parameters,
        world_size=setting.world_size,
        global_batch_size=global_batch_size,
        sequence_length=length,
    )
