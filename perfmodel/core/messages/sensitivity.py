"""Sensitivity of a predicted time."""

MESSAGES = {
    "sensitivity.report": "--report: of what the time depends on; leave --vary and --until out",
    "sensitivity.vary": "--vary {vary}: expected one of {known}",
    "sensitivity.until": "--until {until!r:.40}: expected a share above 0 and at most 1, such as 95%",
    "sensitivity.none_left": "--vary {vary}: none of the values can be predicted: {left_out}",
    "sensitivity.servers": "--vary servers: --strategy {strategy} has no parameter servers; give "
    "--strategy parameter-server, or --vary gpus for how far all-reduce scales",
    "sensitivity.one_machine": "--vary {vary}: the job is on one {node}, and nothing passes the "
    "network between nodes; give more --gpus than a machine holds",
    "sensitivity.profile": "--vary gpus: a --profile holds for one number of GPUs; use --vary inter-link",
    "sensitivity.values": "--vary {vary}: expected 1 to {most_values} values, not {count}",
    "sensitivity.not_whole": "--vary {vary}: {value!r} is not a whole number from 1",
    "sensitivity.no_vary": "{option}: say what to vary: --vary {known}",
    "sensitivity.conditions": "{option}: with --vary, prices, power and failures have no effect",
}
