"""The documentation: pages written by hand beside this file, and ``site``, which generates the others."""
