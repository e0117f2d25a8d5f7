"""One search for plans, in a process of its own: a question's file in, an answer's file out."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perfmodel.errors import InputError
from perfmodel.planning import Goal, SearchResult, search
from perfmodel.planning.caveats import harder_batches
from perfmodel.planning.report import report
from perfmodel.specs.store import Catalogue


def work(question: str, result: str) -> None:
    """Answer a question's file; an answer is a report, or the words of what is wrong with the question."""
    goal, catalogue = pickle.loads(Path(question).read_bytes())
    answer: dict[str, Any] | str
    try:
        answer = searched(goal, catalogue)
    except InputError as error:
        answer = str(error)
    written = Path(f"{result}.partial")
    written.write_bytes(pickle.dumps(answer))
    written.replace(result)


def searched(goal: Goal, catalogue: Catalogue) -> dict[str, Any]:
    """Return the report of a search, with what is said of its convergence.

    Raises
    ------
    InputError : the goal names something unknown or impossible; nothing fits
    """
    result = search(goal, catalogue)
    return report(result) | {"convergence": convergence(result)}


def convergence(result: SearchResult) -> list[str]:
    """Say how long the plan chosen trains, and what its batch costs in epochs where that is not counted."""
    if result.fit is None or result.chosen is None:
        return harder_batches(result)
    return [counted(result.chosen, result.fit.target)]


def counted(chosen: Mapping[str, Any], target: str) -> str:
    """Say how long a plan trains until a published target."""
    length = f"{chosen['epochs']:.4g} epochs" if chosen["epochs"] else f"{chosen['samples']:.4g} samples"
    batch = f"{chosen['global_batch_size']:,}"
    return f"counted are {length} at a global batch of {batch}, until the published target: {target}"
