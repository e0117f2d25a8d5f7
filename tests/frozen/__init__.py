"""Frozen answers: a fixed list of requests over every command, taken before a change and compared after it.

``requests.txt`` holds one command line a line, without ``perfmodel`` and ``--json``; the files that they
read lie in ``files/``.  ``python -m tests.frozen take FILE`` writes the answers, ``compare FILE`` answers
again and lists what moved.
"""
