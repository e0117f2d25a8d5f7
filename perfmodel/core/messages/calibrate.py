"""Inputs of ``calibrate``."""

MESSAGES = {
    "calibrate.traces_or_times": "--trace and --times: give one of them",
    "calibrate.of_runs": "{wrong}: of measured runs; leave --trace and --times out",
    "calibrate.refit_collectives": "--collectives: they update the fit; not with --refit, which fits anew",
    "calibrate.no_steps": "--skip {skip}: of marked steps; --collectives have none, leave it out",
    "calibrate.of_a_job": "{names}: of a job that was traced or timed, or whose network was; "
    "give --trace, --times or --collectives too, or leave it out to learn from measured runs",
    "calibrate.of_a_fit": "{option}: of a fit to measured runs, not of an update by {by}{anew}",
    "calibrate.report": "--report: is of what --data or --collectives teach; give one of them",
    "calibrate.output": "{value}: give --output FILE too; only a fit to the runs and specs that come "
    "along replaces the file that predict reads",
}
