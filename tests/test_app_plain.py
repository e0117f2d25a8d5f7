"""The name of a case is shown letter by letter: it is no Markdown and no HTML."""

from __future__ import annotations

import pytest

from tests.test_app import opened


@pytest.mark.parametrize("name", ["http://d.co/x", "www.d.co", "me@d.co", "[c](http://d.co)", ":red[x]"])
def test_a_case_is_no_link(name):
    test = opened("compare", **{"gpus": "8", "a-name": "first", "b-gpus": "16", "b-name": name})
    shown = [each.value for each in (*test.markdown, *test.caption, *test.warning)]
    assert any("(B) for speed" in each for each in shown)
    assert not [each for each in shown if name in each]
