"""Sweeps and their folders."""

MESSAGES = {
    "sweep.form_and_output": "{option} and --output: give one of them",
    "sweep.dask_output": "--dask: its workers write a folder; give --output DIR/",
    "sweep.jobs_and_dask": "--jobs and --dask: give one; a cluster has as many workers as were started",
    "sweep.jobs": "--jobs: for --output and --csv; other output uses one core",
    "sweep.output": "--output {output}: expected a name that ends in .csv or .parquet, or in / of a folder",
    "sweep.too_many_for": "{count:,} scenarios are too many for {option}; --csv and --output take any number",
    "sweep.no_value": "{field}: expected at least one value to sweep over",
    "sweep.calibrations": "calibration: one in a sweep; sweep with each on its own",
    "sweep.profiles": "profile: one in a sweep; sweep over each on its own",
    "sweep.anchor": "anchor {spec!r}: a sweep takes the time of one accelerator (@1), but of layouts",
    "sweep.no_folder": "no folder, and none can be made: {strerror}",
    "sweep.other_file": "holds {file}, which no manifest names as a part of this sweep; write to "
    "another folder",
    "sweep.unwritable": "cannot be written: {strerror}",
    "sweep.locked": "being written by another process{who}; wait for it, or write to another folder",
    "sweep.no_manifest": "no manifest of a sweep; {elsewhere}",
    "sweep.manifest_version": "a manifest of version {version}, not {known}; {elsewhere}",
    "sweep.other_sweep": "of another sweep, whose {differing} differ; {elsewhere}",
    "sweep.part_unseen": "written by a worker, but not seen here; the folder must be one that all "
    "machines share",
    "sweep.none_left": "none of {scenarios:,} scenarios can be predicted: {refused}",
    "sweep.too_many": "{count:,} scenarios are too many for --json; --csv and --output take any number",
}
