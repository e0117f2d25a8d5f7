"""Model-parallel replicas and asynchronous SGD, as in DistBelief."""

MESSAGES = {
    "distbelief.point_form": "{given!r:.60}: expected machines and speed-up, e.g. 8:2.2",
    "distbelief.point_range": "{given!r:.60}: expected at least 2 machines, and a speed-up from 1 to as many",
    "distbelief.peak": "--peak goes with --point, the machines and the speed-up of a model of your own",
    "distbelief.point_law": "--point {machines}:{speedup:g}: the law peaks at {most:.2f} at most there",
    "distbelief.lost": "--lost {lost}: expected fewer than the {replicas} replicas",
    "distbelief.replica": "--replica-model and --replica-machines go together; give both or neither",
}
