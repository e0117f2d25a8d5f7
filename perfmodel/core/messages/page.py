"""Paging through an answer."""

MESSAGES = {
    "page.offset": "offset = {offset} goes with limit, the plans of a page",
}
