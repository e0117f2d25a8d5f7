"""Inputs of ``calibrate``."""

MESSAGES = {
    "calibrate.traces_or_times": "traces and times: give one of them",
    "calibrate.of_runs": "{what}: of measured runs; leave traces and times out",
    "calibrate.refit_collectives": "collectives: they update the fit; leave refit out",
    "calibrate.of_a_job": "{names}: of a job that was traced or timed, or whose network was; give "
    "traces, times or collectives",
    "calibrate.trace_or_times": "--trace and --times: give one of them",
    "calibrate.of_runs_shell": "{wrong}: of measured runs; leave --trace and --times out",
    "calibrate.skip": "--skip {skip}: of marked steps; --collectives have none, leave it out",
    "calibrate.collectives_refit": "--collectives: they update the fit; not with --refit, which fits anew",
    "calibrate.of_a_fit": "{option}: of a fit to measured runs, not of an update by {by}{anew}",
    "calibrate.of_a_job_shell": "{known}: of a job that was traced or timed, or whose network was; "
    "give --trace, --times or --collectives too, or leave it out to learn from measured runs",
    "calibrate.output": "{value}: give --output FILE too; only a fit to the runs and specs that come "
    "along replaces the file that predict reads",
    "calibrate.no_steps": "skip: of marked steps; collectives have none, leave it out",
}
