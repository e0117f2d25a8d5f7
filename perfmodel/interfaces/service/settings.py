"""Settings of the service, declared once for command line, environment and documentation."""

from __future__ import annotations

import ipaddress
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from perfmodel.core.errors import refusal

PREFIX = "PERFMODEL_SERVE_"
"""Prefix of the environment variable of a setting: ``PERFMODEL_SERVE_BODY_BYTES``."""
HANDED_DOWN = f"{PREFIX}SETTINGS"
"""Environment variable with the first process's settings as JSON, for the processes it starts."""


def setting(
    default: Any, words: str, answers: str = "", unit: str = "", least: float = 1, most: float = math.inf
) -> Any:
    """Declare a setting: default, help text, response beyond the limit, unit and range."""
    metadata = {"words": words, "answers": answers, "unit": unit, "least": least, "most": most}
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """Address, limits and access of a running service.

    Raises
    ------
    InputError : a number out of its range; an address other than loopback without tokens
    """

    host: str = setting("127.0.0.1", "Address to listen on; any but loopback needs --token-file.")
    port: int = setting(8080, "Port to listen on; 0 for any free one.", least=0, most=65535)
    workers: int = setting(1, "Number of worker processes, each with its own pool.", most=256)
    token_file: str | None = setting(
        None,
        "File of bearer tokens, one per line, that others cannot read; requests then need a token.",
        "401, except for /healthz and /readyz",
    )
    without_token: bool = setting(False, "Answer other machines without tokens.")
    allowed_host: tuple[str, ...] = setting(
        (),
        "Host name that requests may address; many allowed.  [default: on loopback its names, otherwise any]",
        "421",
    )
    cors_origin: tuple[str, ...] = setting(
        (),
        "Origin whose pages may call the service from a browser, e.g. https://example.org; many allowed.",
        "403 to pages of any other origin",
    )
    body_bytes: int = setting(4_000_000, "Largest body of a request.", "413", "B", most=1e9)
    buffered_bytes: int = setting(
        64_000_000, "Bodies of all requests in flight together.", "503 with Retry-After", "B", most=1e12
    )
    nesting: int = setting(64, "Deepest nesting of brackets in a body.", "400", most=200)
    candidates: int = setting(
        5_000_000, "Largest number of candidates of a plan, a search for layouts or a sweep.", "422", most=1e9
    )
    seconds: float = setting(
        30.0, "Time limit of one request in the pool.", "504", "s", least=0.01, most=86400
    )
    memory_bytes: int = setting(
        1_000_000_000, "Memory of one process of the pool.", "422", "B", least=200e6, most=1e15
    )
    pool: int = setting(2, "Processes of the pool for plans, layouts and sweeps.", most=256)
    queue: int = setting(
        16, "Requests that may wait for the pool.", "429 with Retry-After", least=0, most=100_000
    )
    connections: int = setting(
        1000,
        "Requests in flight per worker; 16 more connections may be open.",
        "503 with Retry-After",
        most=1e6,
    )
    head_seconds: float = setting(
        10.0,
        "Without effect: a proxy closes connections whose head is slow.",
        unit="s",
        least=0.01,
        most=3600,
    )
    body_seconds: float = setting(
        10.0,
        "Time to send a request's body, or to read 64 kB of an answer.",
        "408",
        "s",
        least=0.01,
        most=3600,
    )
    idle_seconds: float = setting(
        30.0, "Time that a connection stays open between requests.", "closed", "s", most=3600
    )
    drain_seconds: float = setting(
        30.0, "Time for requests in flight to finish after SIGTERM.", "closed", "s", least=0, most=3600
    )
    access_log: bool = setting(True, "Write a line of JSON for each request.")

    def __post_init__(self) -> None:
        for one in fields(self):
            value, metadata = getattr(self, one.name), one.metadata
            if isinstance(value, bool) or not isinstance(value, int | float):
                continue
            if not metadata["least"] <= value <= metadata["most"]:
                raise refusal(
                    "service.range",
                    option_of(one.name),
                    value=value,
                    least=metadata["least"],
                    most=metadata["most"],
                )
        if not (self.is_loopback or self.token_file or self.without_token):
            raise refusal("service.open", host=self.host)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return _loopback(self.host)

    @property
    def hosts(self) -> frozenset[str] | None:
        """Host names that requests may use, against DNS rebinding; None for any."""
        if self.allowed_host:
            return frozenset(name.lower() for name in self.allowed_host)
        if self.is_loopback:
            return frozenset({"localhost", "127.0.0.1", "[::1]", self.host.lower()})
        return None

    def handed_down(self) -> dict[str, str]:
        """Return the environment that gives the processes of ``--workers`` the same settings."""
        return {HANDED_DOWN: json.dumps(asdict(self))}


def of_environment(environment: Mapping[str, str]) -> Settings:
    """Return the settings in the environment, or the defaults."""
    values: dict[str, Any] = json.loads(environment.get(HANDED_DOWN, "{}"))
    many = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Settings(**{**values, **many})


def option_of(name: str) -> str:
    """Return the option of a setting.

    >>> option_of("body_bytes")
    '--body-bytes'
    """
    return f"--{name.replace('_', '-')}"


def variable_of(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable_of("body_bytes")
    'PERFMODEL_SERVE_BODY_BYTES'
    """
    return f"{PREFIX}{name.upper()}"


def _loopback(host: str) -> bool:
    """Return whether a host is a loopback address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
