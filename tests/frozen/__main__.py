"""Take the frozen answers, or compare with those taken before; the exit code is 1 where something moved."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.frozen.answers import REQUESTS, Answer, answers, read, requests, write
from tests.frozen.comparison import CLOSE, differences, listing
from tests.frozen.sample import SAMPLE, sampled


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("what", choices=["take", "compare", "sample"], help="sample writes the suite's few")
    parser.add_argument("file", type=Path, nargs="?", help="answers, one a line")
    parser.add_argument("other", type=Path, nargs="?", help="answers to compare with, instead of new ones")
    parser.add_argument("--only", metavar="COMMAND", help="of one command")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--text", action="store_true", help="list texts that differ too")
    parser.add_argument("--close", type=float, default=CLOSE, help="relative difference that is none")
    parser.add_argument("--keys", type=int, default=12, help="keys listed of each command")
    parser.add_argument("--requests", type=Path, default=REQUESTS, help="another list of requests")
    options = parser.parse_args()
    if options.what == "sample":
        write(SAMPLE, sampled(options.jobs))
        return 0
    if options.file is None:
        parser.error("name the file of answers")
    lines = [line for line in requests(options.requests) if options.only in (None, line.split()[0])]
    if options.what == "take":
        write(options.file, _taken(lines, options.jobs))
        return 0
    before = [each for each in read(options.file) if options.only in (None, each["request"].split()[0])]
    after = read(options.other) if options.other else _taken(lines, options.jobs)
    moved = [each for each in differences(before, after, options.close) if options.text or not each.is_text]
    print(*listing(moved, options.keys), sep="\n")
    known, there = ({each["request"] for each in some} for some in (before, after))
    print(
        f"{len(known & there)} requests compared, {len({each.request for each in moved})} differ;"
        f" {len(known ^ there)} are in one list alone"
    )
    return int(bool(moved))


def _taken(lines: list[str], jobs: int) -> list[Answer]:
    """Return the answers; say on stderr how long each command took."""
    seconds: dict[str, list[float]] = {}
    taken = []
    for answered, took in answers(lines, jobs):
        taken.append(answered)
        seconds.setdefault(answered["request"].split()[0], []).append(took)
    for command, each in sorted(seconds.items(), key=lambda item: -sum(item[1])):
        print(f"{command:16}{len(each):5}{sum(each):8.1f} s, slowest {max(each):.1f} s", file=sys.stderr)
    return taken


if __name__ == "__main__":
    sys.exit(main())
