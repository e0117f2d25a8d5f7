"""Networks as tables of layers: built-in ones, and importers of files."""

from perfmodel.workloads.built_in import groups, names
from perfmodel.workloads.catalogue import understood, workload
from perfmodel.workloads.from_file import workload_from_file

__all__ = ["groups", "names", "understood", "workload", "workload_from_file"]
