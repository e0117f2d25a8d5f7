"""``perfmodel.Client``: the calls of ``import perfmodel``, answered by a service elsewhere."""

from perfmodel.client.client import Client
from perfmodel.client.connection import ServiceError
from perfmodel.client.report import Report

__all__ = ["Client", "Report", "ServiceError"]
