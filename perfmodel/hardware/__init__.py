"""What a file of ``hardware_specs/`` may say: accelerators, links, machines, software, prices."""
