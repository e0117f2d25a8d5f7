"""Names for the titles of pages: the network and the accelerators as people call them."""

from __future__ import annotations

import re
from typing import NamedTuple

from perfmodel.hardware.machine_words import several_words
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.names import network_name

_GPUS = re.compile(r"(?:.* on )?([\d,]+) x (.+?)(?:(?: by | in \d+ nodes?\b|[:(]).*)?")
"""Accelerators at the start of what a card says of machines, or behind the network."""
USUAL: str = Scenario.model_fields["workload"].default
"""The network of a job that states none."""


class Job(NamedTuple):
    """A job for the title of a page."""

    network: str
    gpus: str

    def __str__(self) -> str:
        return f"{self.network} on {self.gpus}"


def job_of(id: str | None, card: Card) -> Job:
    """Return the network of an id and the accelerators of a card.

    >>> str(job_of("resnet50", Card(advice="", machines="32 x V100 SXM2 16 GB (v100-sxm2-16gb): 4 nodes")))
    'ResNet-50 on 32 V100s'
    >>> job_of(None, Card(advice="", machines="16 x RTX 4090 by PCIe, 2 nodes by 8 x HDR 200 Gbit/s")).gpus
    '16 RTX 4090s'
    """
    counted = _GPUS.fullmatch(card.machines)
    gpus = several_words(int(counted[1].replace(",", "")), counted[2].strip()) if counted else "these GPUs"
    return Job(network_name(id or USUAL), gpus)
