"""The campaigns by the kind of their measured rows."""

from __future__ import annotations

from typing import Any

from perfmodel.evidence.accuracy import training_campaign
from perfmodel.evidence.accuracy.campaign import Campaign
from perfmodel.evidence.accuracy.collectives import collective_campaign
from perfmodel.evidence.accuracy.mlperf import mlperf_campaign
from perfmodel.evidence.accuracy.transformers import transformer_campaign

CAMPAIGNS: dict[str, Campaign[Any]] = {
    each.kind: each
    for each in (
        training_campaign.CAMPAIGN,
        transformer_campaign.CAMPAIGN,
        collective_campaign.CAMPAIGN,
        mlperf_campaign.CAMPAIGN,
        transformer_campaign.MEMORY,
    )
}
