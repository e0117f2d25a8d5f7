"""Processes that work on a part."""

MESSAGES = {
    "process.ended": "part {number}: {times} times a process that worked on it or on another "
    "part was ended from outside, as happens where memory runs out; use fewer jobs",
}
