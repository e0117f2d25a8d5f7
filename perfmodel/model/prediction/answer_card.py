"""The record of the answer card."""

from perfmodel.core.records.record import Record

LABELS = {
    "machines": "machines",
    "run": "run",
    "time": "iteration",
    "throughput": "throughput",
    "cost": "cost",
    "chance": "chance",
    "memory": "memory",
    "limit": "limit",
    "rests_on": "rests on",
}
"""Field of a card below the advice -> its label, in every interface."""


class Card(Record):
    """The answer in short: text, empty where it does not apply; every interface shows the same."""

    advice: str
    """What to plan with or to do."""
    machines: str = ""
    """Accelerators, and how they are joined."""
    run: str = ""
    """Time of the whole run with its 80 % interval."""
    time: str = ""
    """Time of an iteration with its 80 % interval."""
    throughput: str = ""
    """Tokens per second, and samples, with their 80 % intervals; where the job does not fit, empty or
    those with the change by which it fits."""
    cost: str = ""
    """Cost of the run, or of an hour."""
    chance: str = ""
    """Probability of what was asked: of meeting deadline and budget, of being faster, of reaching a claim."""
    memory: str = ""
    """Whether the job fits, with its probability."""
    limit: str = ""
    """What takes most of the time, or what binds."""
    rests_on: str = ""
    """What the interval was learned from, and what widens it most."""

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The fields below the advice, with labels."""
        return [(label, getattr(self, name)) for name, label in LABELS.items() if getattr(self, name)]
