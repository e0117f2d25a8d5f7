"""``python -m perfmodel``: the command."""

from perfmodel.cli import main

main(prog_name="perfmodel")
