"""Input pipelines: data sets, storage, decoding and loading of samples."""
