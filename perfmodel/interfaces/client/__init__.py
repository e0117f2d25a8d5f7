"""``perfmodel.Client``: the calls of ``import perfmodel``, answered by a service elsewhere."""

from perfmodel.core.files.tables import Report
from perfmodel.interfaces.client.client import Client
from perfmodel.interfaces.client.connection import ServiceError

__all__ = ["Client", "Report", "ServiceError"]
