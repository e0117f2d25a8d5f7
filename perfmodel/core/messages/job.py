"""Jobs that the model cannot predict."""

MESSAGES = {
    "job.absurd": "{error}: a spec, the workload or an option holds an absurd number",
    "job.time": "iteration time comes out as {time} s; a spec or workload holds an absurd number",
    "job.one_machine": "--strategy {strategy} stays within one machine; {node} holds {accelerators}, "
    "so {world_size} GPUs need all-reduce or parameter-server",
    "job.not_finite": "an iteration time is no finite number; a spec or workload holds an absurd number",
}
