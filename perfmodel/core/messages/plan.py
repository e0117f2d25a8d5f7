"""Output of ``plan``."""

MESSAGES = {
    "plan.forms": "--torchrun, --slurm, --csv and --markdown: give one of them",
    "plan.scripts_have": "--torchrun and --slurm: go without --have; leave them out",
    "plan.node_twice": "{option}: {node} is given twice",
    "plan.none_left": "{said}",
}
