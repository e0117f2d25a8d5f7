"""A hundred and more random command lines in every run of the suite; ``python -m tests.fuzz`` runs more."""

from __future__ import annotations

import pytest

from tests.fuzz import commands, fuzz


@pytest.mark.parametrize("seed", range(4))
def test_random_command_lines_end_in_an_answer_or_a_refusal(seed):
    ended, failures = fuzz(40, seed)
    assert not failures
    assert {"0", "2"} <= set(ended)


def test_every_command_is_fuzzed():
    from perfmodel.interfaces.cli import COMMANDS

    assert {words[0] for words in commands()} == set(COMMANDS)
