"""Files of plots."""

MESSAGES = {
    "plot.html": "--plot {path}: {suffix}: expected a name in .html",
    "plot.one_rank": "--plot: one rank sends nothing; expected --ranks 2 or more",
    "plot.ending": "--plot {path}: {ending}: expected a name in .svg, .png or .html",
}
