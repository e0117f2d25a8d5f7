"""What one iteration takes: its terms, and the one evaluation that every answer comes from."""

# A term takes its time from modules of perfmodel.prediction, and that package's __init__ leads back to the
# terms: begun from there, whichever of the two is asked for first, each module finds the others complete.
import perfmodel.prediction  # noqa: F401
