"""A child of ours that is being started is never taken for an orphan, however the threads that start and look take turns."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere orphans cannot be found")

# The system has one child, `CHILD`, from the moment at which a start of ours is within its block. Each turn of the schedule lets the start
# go on: at its `first` place of the looking thread up to its own line number `line`, at its `second` place to its end.
PROGRAM = """
import dis, json, os, sys, threading
from yagent.runtime import supervise
from yagent.workspace import orphans
from yagent.workspace.process_table import Family, Origin, ProcessInfo

CHILD, ORIGIN = 77, Origin(0, "mark-1-", 1)
READS = ("LOAD_ATTR", "STORE_ATTR")

class Start:
    def __init__(self, line):
        self.line, self.lines, self.there, self.known = line, 0, False, None
        self.paused, self.go = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.carry_out)

    def carry_out(self):
        sys.settrace(lambda frame, kind, value: self.trace if frame.f_code.co_filename == orphans.__file__ else None)
        with orphans.starting() as own:
            self.there, self.known = True, own
            self.step()
            own.add(CHILD)
            self.step()
        sys.settrace(None)
        self.paused.set()

    def trace(self, frame, kind, value):
        if kind == "line":
            self.step()
        return self.trace

    def step(self):
        self.lines += 1
        if self.lines == self.line:
            self.paused.set()
            self.go.wait()

    def begin(self):
        self.thread.start()
        self.paused.wait()

    def end(self):
        self.go.set()
        self.thread.join()

def turn(ask, line, first, second):
    start, places = Start(line), 0

    def place():
        nonlocal places
        places += 1
        if places == first:
            start.begin()
        if places == second:
            start.end()

    def look():
        place()
        found = [CHILD] if start.there else []
        place()
        return found

    def trace(frame, kind, value):
        if frame.f_code.co_filename != orphans.__file__:
            return None
        frame.f_trace_opcodes = True
        if kind == "opcode" and dis.opname[frame.f_code.co_code[frame.f_lasti]] in READS:
            place()
        return trace

    sys.settrace(trace)
    try:
        taken = ask(look)
    finally:
        sys.settrace(None)
    if places >= first:
        start.end()
        start.known.discard(CHILD)
    return taken, places, start.lines

def strangers(look):
    return bool(orphans.adopted(lambda us: look()))

def family(look):
    def family_of(origin, own, before):
        found = [] if own is None else [pid for pid in look() if pid not in own]
        return Family(tuple(ProcessInfo(pid, os.getpid(), pid, "child") for pid in found), True)
    return bool(orphans.known_family(ORIGIN, family_of).members)

def every_turn(ask):
    steps, places = turn(ask, 0, 1, 1)[2], turn(ask, 1, 99, 99)[1]
    turns = [(line, i, j) for line in range(1, steps + 1) for i in range(1, places + 1) for j in range(i, places + 1)]
    return [[each for each in turns if turn(ask, *each)[0]], len(turns), steps, places]

async def main():
    assert orphans.adopt(os.getpid())
    print(json.dumps(every_turn(globals()[sys.argv[1]])))

supervise.run(main())
"""


@pytest.mark.parametrize("ask", ["strangers", "family"])
def test_a_start_at_any_moment_of_a_look_makes_no_orphan_of_the_child(ask: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, ask], check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    taken, tried, steps, places = json.loads(done.stdout)
    assert steps > 5
    assert places > 5
    assert tried > 100
    assert taken == []


ADOPTING = """
import json, os
from yagent.runtime import supervise
from yagent.workspace import orphans

none = lambda us: ()
us = os.getpid()

async def main():
    said = [orphans.adopt(1, none), orphans.adopt(us, lambda us: (77,))]
    with orphans.starting():
        said += [orphans.adopt(us, none), orphans.adopt(us, lambda us: (77,))]
    return [*said, orphans.adopt(us, none)]

before = orphans.adopt(us, none)
said = supervise.run(main())
print(json.dumps([before, *said, orphans.adopt(us, none)]))
"""


def test_orphans_are_asked_for_only_where_all_children_are_known() -> None:
    done = subprocess.run([sys.executable, "-c", ADOPTING], check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    assert json.loads(done.stdout) == [False, False, False, None, None, True, False]


GROUPS = """
import json, os, subprocess
from yagent.runtime import supervise
from yagent.workspace import orphans

def is_told(group):
    with subprocess.Popen(["sleep", "60"], process_group=group) as child:
        groups = orphans.orphaned_groups()
        child.kill()
    return bool(groups)

async def main():
    assert orphans.adopt(os.getpid())
    ours = [os.getpgrp(), os.getsid(0), os.getpgid(os.getppid())]
    assert len(set(ours)) == 3
    return [is_told(0), *map(is_told, ours)]

print(json.dumps(supervise.run(main())))
"""


def test_no_group_that_we_are_in_or_come_from_is_an_orphans() -> None:
    line = 'set -m; bash -c \'set -m; "$@"; :\' bash "$@"; :'
    words = ["bash", "-c", line, "bash", sys.executable, "-c", GROUPS]
    done = subprocess.run(words, check=True, timeout=60, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert json.loads(done.stdout) == [True, False, False, False]
