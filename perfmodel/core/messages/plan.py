"""Output of ``plan``."""

MESSAGES = {
    "plan.forms": "--torchrun, --slurm, --csv and --markdown: give one of them",
    "plan.scripts_have": "--torchrun and --slurm: go without --have; leave them out",
    "plan.node_twice": "{option}: {node} is given twice",
    "plan.of_service": "the plans of a service come without the search that made them",
    "plan.none_left": "{said}",
}
