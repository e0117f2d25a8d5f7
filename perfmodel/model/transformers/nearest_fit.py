"""Layouts near one that does not fit into memory, and that do."""

from __future__ import annotations

import numpy as np

from perfmodel.model.options.layout import Layout
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import step_of_setting
from perfmodel.model.transformers.layout_words import short
from perfmodel.model.transformers.remedies import remedies_of
from perfmodel.model.transformers.search import Changed, search


def nearest_fits(setting: Setting) -> list[Changed]:
    """Return what makes a setting's layout fit with the same batch on the same accelerators, cheapest first.

    A single change where one is enough, else two; where two are not, the fastest of all layouts that fit.
    Empty where none does, or where the setting has no layout.

    Parameters
    ----------
    setting : with a layout, which does not fit
    """
    if setting.layout is None:
        return []
    able = search(setting, int(setting.layout.global_batch_size))
    times = able.iteration_time
    count = len(times)
    if not count:
        return []

    def changed(words: str, row: int) -> Changed:
        return Changed(words, able.layout(row), float(times[row]), float(able.memory_bytes[row]))

    own = float(step_of_setting(setting).iteration_time)
    both = Layout(
        *(np.append(column, mine) for column, mine in zip(able.layouts, setting.layout, strict=True))
    )
    fits = np.append(np.ones(count, dtype=bool), False)
    remedies = remedies_of(both, np.append(times, own), fits, count)
    if remedies:
        return [changed(each.words, each.row) for each in remedies]
    return [changed(short(able.layout(0).words()), 0)]
