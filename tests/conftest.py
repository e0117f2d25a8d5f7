"""What every test shares: how hypothesis runs, and where measured data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("default")

SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture
def shared() -> Path:
    """The folder of measured data beside the checkout; a test that needs it is skipped without."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside this checkout")
    return SHARED
