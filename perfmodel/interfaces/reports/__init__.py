"""An answer as one page to hand on: question, answer, chart, assumptions, sources, command."""
