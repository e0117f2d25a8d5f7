"""What the other tests here wait for: the answer to what was done last, however late it comes."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.any_version
LATE = """() => {
  const way = Object.getPrototypeOf(WebSocket.prototype), send = way.send;  // below what notes that it asked
  way.send = function (data) { setTimeout(() => send.call(this, data), 1500); };
}"""
"""A way to the app so slow that the page does nothing for a while after it has asked."""


def test_settled_waits_for_the_answer_to_the_last_thing_done(window):
    page = window.open("?gpus=16")
    page.evaluate(LATE)
    page.get_by_label("GPUs", exact=True).fill("24")
    page.get_by_label("GPUs", exact=True).press("Enter")
    assert window.settled().locator("h3").first.inner_text().startswith("24 x ")
    page.go_back()
    assert window.settled().locator("h3").first.inner_text().startswith("16 x ")
