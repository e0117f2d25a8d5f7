"""Layer tables of the built-in networks, and importers that make one from a file."""

from perfmodel.workloads.catalogue import names, workload

__all__ = ["names", "workload"]
