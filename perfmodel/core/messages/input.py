"""Input of samples."""

MESSAGES = {
    "input.other_samples": "--dataset {dataset} holds {sample}s and {workload} takes {taken}s{report}",
    "input.no_objects": "--dataset {dataset} marks no objects, which {workload} learns to find; of "
    "those that do: {known}",
    "input.no_data": "--input real: nothing is known of the data {workload} is trained on; give "
    "--dataset, e.g. {named}, or --sample-bytes, e.g. 115kB{decoded}",
    "input.prefetch": "--prefetch-depth 0 loads in the training process: leave --loader-workers out, "
    "or fetch 1 ahead",
    "input.no_memory": "--cache ram: nobody knows the memory of {node}; --storage ram is for data "
    "that fits in it",
    "input.no_size": "--cache ram: the data set's size is unknown; give --dataset or --dataset-samples",
    "input.not_encoded": "--decoder {name}: {stored} holds no encoded images; --decode-rate says how "
    "fast a worker prepares such samples",
}
