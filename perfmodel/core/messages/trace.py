"""Traces of steps."""

MESSAGES = {
    "trace.only_messages": "{files}: times of messages, and no trace of a step",
    "trace.no_steps": "no marked steps; mark each iteration: profiler.step() of PyTorch, or under "
    "Nsight an NVTX range named `step 7`",
    "trace.other_time": "{times} a step, where the model says {expected}: expected seconds, and the "
    "options of the job that was timed",
    "trace.no_all_reduce": "{collective}; a link is learned from all-reduces: run all_reduce_perf",
    "trace.no_marked_steps": "{name}: no marked steps (ProfilerStep#), so there is no step to compare",
    "trace.speed": "speed = {speed!r:.60}: expected a positive number, e.g. 10",
    "trace.compressed": "broken compressed file: {error}",
    "trace.unpacked": "unpacks to over {read:,} bytes; not a profiler's trace",
    "trace.not_whole": "not a whole JSON trace: {why}",
    "trace.no_kernel": "no kernel of a GPU in it; was the profiler started with the CUDA activity?",
    "trace.no_device": "a kernel that names no device",
    "trace.devices": "more than {most_devices} devices",
    "trace.nccl_line": "line {number}: expected size, count, type, ..., time, algbw, busbw, with "
    "size over time as algbw; is its heading there?",
    "trace.nccl_empty": "no line of results; expected the output of an nccl-tests program",
    "trace.nsight_part": "not a whole Nsight Systems export: {reason}",
    "trace.nsight_unpacked": "unpacks to over {written:,} bytes; not a profiler's export",
    "trace.not_sqlite": "not a SQLite file: {error}",
    "trace.no_table": "no table {kernels} with start, end and deviceId; was CUDA traced?",
    "trace.no_gpu_kernel": "no kernel of a GPU in it",
    "trace.empty_folder": "no trace in this folder; expected {known}",
    "trace.none": "no trace given",
    "trace.sqlite_text": "an SQLite export does not travel as text; send a Chrome trace instead",
    "trace.unknown": "neither a Chrome trace (JSON), nor an SQLite export of Nsight Systems, nor nccl-tests",
    "trace.nsight": "Nsight's own format; export it first: `nsys export --type sqlite --output {name} "
    "{path}`",
    "trace.not_time": "{cell!r}; expected an iteration time in seconds",
    "trace.time_range": "{value:g} s; expected an iteration time in seconds, between {shortest:g} "
    "and {longest:g}",
    "trace.skip_times": "--skip {skip} leaves none of its {count} times",
    "trace.no_times": "no times; expected one iteration time in seconds a line",
    "trace.no_workload": "{option} goes with --workload, the network of the job",
    "trace.skip_steps": "--skip {skip} leaves none of its {count} marked steps",
    "trace.timeline": "--timeline draws up to {most_ranks} ranks, not {rows}",
    "trace.no_accelerator": "it does not name its GPU; say which with --accelerator",
    "trace.unknown_accelerator": "its GPU, {accelerator!r}, is not in the catalogue; say which with "
    "--accelerator, or describe it with --specs",
    "trace.other_accelerator": "its GPU is {accelerator!r}, not {asked}; leave --accelerator and "
    "--node out, or say {family}",
    "trace.precision": "its matrix products are in {formats}, which is not --precision {precision}; "
    "expected --precision {better}",
    "trace.batch": "each pass has {samples} samples, not {batch:g}; expected --local-batch-size {samples}",
    "trace.other_network": "it is not of --workload {workload}: of its {count} sizes of convolutions "
    "{both} are that network's; expected the network that was traced",
}
