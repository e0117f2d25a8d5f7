"""Layouts that fit into memory, nearest to one that does not."""

from __future__ import annotations

import numpy as np

from perfmodel.model.options.layout import Layout
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import step_of_setting
from perfmodel.model.transformers.layout_words import short
from perfmodel.model.transformers.remedies import remedies_of
from perfmodel.model.transformers.search import Changed, search


def nearest_fits(setting: Setting) -> list[Changed]:
    """Return changes that make a setting's layout fit, with its batch and accelerators, the fastest first.

    Changes of one option if one is enough, else of two; if two are not, the fastest of all layouts that fit.
    Empty if no layout fits, or if the setting has no layout.

    Parameters
    ----------
    setting : with a layout that does not fit
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
