"""``perfmodel.Client``: the calls of ``import perfmodel``, answered by a service elsewhere."""

from perfmodel.interfaces.client.client import Client
from perfmodel.interfaces.client.connection import ServiceError
from perfmodel.interfaces.client.report import Report

__all__ = ["Client", "Report", "ServiceError"]
