"""Classes of the files in ``hardware_specs/``: accelerators, links, machines, software, prices."""
