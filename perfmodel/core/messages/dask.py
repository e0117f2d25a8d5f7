"""Clusters of Dask workers."""

MESSAGES = {
    "dask.no_scheduler": "--dask {address}: no Dask scheduler answers there ({reason}); expected an "
    "address such as tcp://10.0.0.1:8786, which dask scheduler prints",
    "dask.no_worker": "--dask {address}: no worker joined in {patience} s; start dask worker",
    "dask.workers_ended": "--dask {address}: workers ended again and again at the same parts, as "
    "happens where memory runs out; start fewer on each machine",
    "dask.lost": "--dask {address}: the scheduler is lost ({name}); the same command goes on where "
    "this one stopped",
    "dask.not_shared": "{on} does not see what was begun there; name a folder that all machines share",
    "dask.other_version": "{on} has another perfmodel, or other files of hardware, networks or "
    "profiles; install the same",
}
