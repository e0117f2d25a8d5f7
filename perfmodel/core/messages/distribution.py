"""Distributions of times."""

MESSAGES = {
    "distribution.given_params": "params: the distribution has its own; name it as a text to give others",
    "distribution.param": "--param {text!r}: expected NAME=VALUE, e.g. rate=1",
    "distribution.no_parameter": "{name} has no parameter {key!r}; it has {known}",
    "distribution.missing": "{name} needs {known}, for example {missing}=1",
    "distribution.not_positive": "{name}: {key} must be positive, not {value:g}",
    "distribution.invalid": "{name}: {problem}",
    "distribution.not_finite": "{law}: {key} must be a finite number, not {value!r}",
    "distribution.range": "{law}: {key} must be a number between 1e-30 and 1e30 (or 0), not {value!r}",
    "distribution.no_file": "empirical needs one parameter, file=PATH (or sample=[...] from Python)",
    "distribution.no_times": "empirical: {source} holds no times; one positive number per line is right",
    "distribution.negative_times": "empirical: {source} holds {numbers:g}; times are not negative, "
    "nor all zero",
    "distribution.malformed": "{spec!r}: {pair!r} should read key=value, as in lognormal:cv=0.05",
    "distribution.twice": "{spec!r}: {strip} is given twice",
}
