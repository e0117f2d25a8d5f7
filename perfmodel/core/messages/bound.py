"""Bounds on the error of training."""

MESSAGES = {
    "bound.decay": "the bound needs learning rate x convexity x discount in 0..1, not {decay:g}",
    "bound.floor": "a target error of {target_error:g} lies below the floor of {floor:g}; a smaller "
    "learning rate or more gradients per update lower it",
    "bound.variant": "no bound is known for {variant} on the error of the other variants",
    "bound.no_share": "{variant}: the share of fresh gradients is not known here",
    "bound.learning_rate": "{variant}: the bound needs a learning rate in 0..{limit:.3g}, not "
    "{learning_rate:g}",
    "bound.staleness": "{variant}: no gradient is fresh and staleness_bound is {staleness_bound:g}; "
    "the bound needs one below 1",
    "bound.no_curve": "--curve: {values}",
    "bound.loss": "--time-to-loss {loss:g}: expected more than 0 and less than {initial_error:g}, "
    "where the bound's example starts",
    "bound.layout": "--time-to-loss: the bound is of data-parallel jobs without a layout, e.g. of "
    "resnet50, or of {workload} by --strategy async",
}
