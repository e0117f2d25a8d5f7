"""What requests hold whose commands are no records yet: measured runs."""

from typing import Annotated, Literal

from perfmodel.core.records.options import Described
from perfmodel.core.records.record import Within


class ValidateRequest(Described):
    """Measured runs that come with the package.

    Parameters
    ----------
    kind : What was measured.
    mode : Predict from specs alone, or from the measured iteration of one accelerator or machine.
    out_of_sample : Whether each source is predicted by a fit to all the others. Of training that takes some
        40 s on one core, of the other kinds up to 5: a service that allows less (30 s by default,
        perfmodel serve --seconds) answers 504; the command line has no limit.
    """

    kind: Literal["training", "transformers", "collectives", "mlperf", "claims"] = "training"
    mode: Literal["specs", "anchored", "anchored-machine"] = "specs"
    out_of_sample: Annotated[bool, Within(strict=True)] = False
