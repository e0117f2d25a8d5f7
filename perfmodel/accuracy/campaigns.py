"""Every campaign, by the kind of rows that it holds."""

from __future__ import annotations

from typing import Any

from perfmodel.accuracy import collective_campaign, mlperf_campaign, training_campaign, transformer_campaign
from perfmodel.accuracy.campaign import Campaign

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
