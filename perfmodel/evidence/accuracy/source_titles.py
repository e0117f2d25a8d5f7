"""What the sources of measured rows are called."""

import csv
import re
from collections.abc import Mapping
from functools import cache

from perfmodel.core.files.reading import read_table
from perfmodel.core.files.resources import folder


@cache
def source_titles() -> Mapping[str, str]:
    """Return the title of each source of measured rows, by its key in ``validation/sources.csv``."""
    with read_table(folder("validation") / "sources.csv") as file:
        return {row["key"]: row["title"] for row in csv.DictReader(file)}


def short_title(source: str) -> str:
    """Return the title of a source without its details; its key where it has none."""
    return re.split(r"[:,;(]", source_titles().get(source) or source)[0].strip()
