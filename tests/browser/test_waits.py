"""What the other tests here wait for: the answer to what was done last, however late it comes."""

from __future__ import annotations

import pytest

from tests.browser.conftest import LONGEST

pytestmark = pytest.mark.any_version
LATE = """() => {
  const way = Object.getPrototypeOf(WebSocket.prototype), send = way.send;  // below what notes that it asked
  way.send = function (data) { setTimeout(() => send.call(this, data), 1500); };
}"""
"""A way to the app so slow that the page does nothing for a while after it has asked."""

STARVED = """() => {
  window.requestAnimationFrame = window.requestIdleCallback = () => 0;
  const slide = document.body.animate({opacity: [0, 1]}, 100);
  slide.startTime = document.timeline.currentTime + 1e9;
}"""
"""A browser that draws no frames and always has something else to do, in the middle of an animation."""
LOST = "() => Object.getPrototypeOf(WebSocket.prototype).send = () => {}"


def test_settled_waits_for_the_answer_to_the_last_thing_done(window):
    page = window.open("?gpus=16")
    page.evaluate(LATE)
    page.get_by_label("GPUs", exact=True).fill("24")
    page.get_by_label("GPUs", exact=True).press("Enter")
    assert window.settled().locator("h3").first.inner_text().endswith(" 24 V100s?")
    page.go_back()
    assert window.settled().locator("h3").first.inner_text().endswith(" 16 V100s?")


def test_waits_end_without_frames(window):
    page = window.open("?gpus=16")
    page.evaluate(STARVED)
    window.settled()


def test_a_wait_that_fails_says_what_it_waited_for(window):
    page = window.open("?gpus=16")
    page.evaluate(LOST)
    page.get_by_label("GPUs", exact=True).fill("24")
    page.get_by_label("GPUs", exact=True).press("Enter")
    page.set_default_timeout(500)
    with pytest.raises(AssertionError, match="an answer to run 2"):
        window.settled()
    page.set_default_timeout(LONGEST)
