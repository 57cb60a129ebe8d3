"""Writers of one ledger, run by the tests as processes of their own; prints JSON."""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from fractions import Fraction

from gdpbridge.ledger import BudgetExceededError, Ledger

AT_ONCE = 5


def forked(work: Callable[[], None]) -> int:
    """Run work in a child process; return its number."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def spend_many(url: str, writers: int, spends: int) -> None:
    """Spend μ² = 2 / spends from all writers; every tenth key is asked for by two of them."""
    share = spends // writers
    inputs, outputs = zip(*(os.pipe() for _ in range(writers)), strict=True)

    def work(writer: int) -> None:
        book = Ledger(url, timeout=120)
        accepted = refused = 0
        for number in range(share):
            # the even writer of each pair names what both ask for
            owner = writer & ~1 if number % 10 == 0 else writer
            try:
                done = book.spend(
                    "census",
                    mu_squared=Fraction(2, spends),
                    purpose="count",
                    key=f"{owner}-{number}",
                )
            except BudgetExceededError:
                refused += 1
            else:
                accepted += not done.repeated
        os.write(outputs[writer], json.dumps([accepted, refused]).encode())

    children = [forked(lambda writer=writer: work(writer)) for writer in range(writers)]
    for one in outputs:
        # a writer that failed has said nothing: its pipe is at its end then
        os.close(one)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    counts = [json.loads(os.read(one, 1000) or b"[0, 0]") for one in inputs]
    print(json.dumps({"statuses": statuses, "counts": counts}))


def kill_many(url: str, kills: int) -> None:
    """Kill writers at random moments, five of them writing at a time; say what they reported."""
    rng = random.Random(7)
    reader, writer = os.pipe()

    def report(key: str) -> None:
        # a write this short is never cut
        os.write(writer, f"{key}\n".encode())

    def work(name: int) -> None:
        book = Ledger(url, timeout=60)
        number = 0
        while True:
            number += 1
            key = f"{name}-{number}"
            book.spend("census", mu="1/1000", purpose="count", key=key)
            report(key)
            reserved = book.reserve("census", mu="1/1000", purpose="job", key=f"{key}-r")
            report(f"{key}-r")
            if number % 2 == 0:
                book.commit("census", reserved.entry.number)

    statuses, reported, seen = list[int](), b"", 0
    for first in range(0, kills, AT_ONCE):
        children = [
            forked(lambda name=first + i: work(name)) for i in range(min(AT_ONCE, kills - first))
        ]
        # from the first reservation on
        while b"-r\n" not in reported[seen:]:
            assert select.select([reader], [], [], 120)[0], "no writer has reserved anything"
            reported += os.read(reader, 1 << 16)
        seen = len(reported)
        for child in children:
            time.sleep(rng.uniform(0, 0.08))
            os.kill(child, signal.SIGKILL)
        statuses += [os.WTERMSIG(os.waitpid(child, 0)[1]) for child in children]
    os.close(writer)
    while more := os.read(reader, 1 << 16):
        reported += more
    print(json.dumps({"signals": statuses, "reported": reported.decode().split()}))


if __name__ == "__main__":
    MODES = {"spend": spend_many, "kill": kill_many}
    MODES[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
