"""``perfmodel.Client``: the functions of ``import perfmodel``, executed by a service."""

from perfmodel.core.files.tables import Report
from perfmodel.interfaces.client.client import Client
from perfmodel.interfaces.client.connection import ServiceError

__all__ = ["Client", "Report", "ServiceError"]
