"""Layer tables of the built-in networks, and importers that make one from a file."""

from perfmodel.workloads.catalogue import groups, names, understood, workload
from perfmodel.workloads.from_file import workload_from_file

__all__ = ["groups", "names", "understood", "workload", "workload_from_file"]
