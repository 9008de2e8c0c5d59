"""Ctrl-Z: the terminal is in order while the process stands still."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from tests.support.command_line import SOURCES, CommandLine, ended
from tests.support.model_server import Call, ModelServer, Reply, hand_over
from tests.support.terminal import Terminal, closing

HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"

PROGRAM = """
import asyncio, os, signal, sys
from yagent.apps.cli.suspension import Suspension

async def run():
    over = asyncio.Event()
    suspension = Suspension(lambda: print("left", flush=True), lambda: (print("back", flush=True), over.set()))
    suspension.install()
    os.kill(os.getpid(), signal.SIGTSTP)
    if signal.getsignal(signal.SIGTSTP) is not signal.SIG_IGN:
        await over.wait()
    suspension.release()

def child():
    os.setpgid(0, 0)  # a job of its own, as a shell makes it
    asyncio.run(run())
    os._exit(0)

if sys.argv[1] == "ignored":
    signal.signal(signal.SIGTSTP, signal.SIG_IGN)
pid = os.fork() or child()
_, status = os.waitpid(pid, os.WUNTRACED)
if os.WIFSTOPPED(status):
    print("stopped by", signal.Signals(os.WSTOPSIG(status)).name, flush=True)
    os.kill(pid, signal.SIGCONT)
    _, status = os.waitpid(pid, 0)
print("ended", os.WEXITSTATUS(status))
"""


@pytest.mark.parametrize(("how", "said"), [("heeded", "left\nstopped by SIGTSTP\nback\nended 0\n"), ("ignored", "ended 0\n")])
def test_the_process_stands_still_as_the_system_would_have_it(how: str, said: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES / "src")}
    run = subprocess.run([sys.executable, "-c", PROGRAM, how], env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert (run.stdout, run.stderr) == (said, "")


@pytest.mark.real_time
async def test_the_cursor_is_shown_while_the_run_stands_still_and_hidden_again(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play({"Director": [Reply("word " * 500, pace=0.2)]})
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "-p", "go", stdout=asyncio.subprocess.PIPE)
        async with closing(process):
            await terminal.see(HIDE.decode())
            os.kill(process.pid, signal.SIGTSTP)  # nobody could have it go on, so the system does not stop it
            await terminal.see(SHOW.decode())
            terminal.seen = terminal.seen.partition(SHOW)[2]
            await terminal.see(HIDE.decode())
            assert process.returncode is None


@pytest.mark.real_time
async def test_an_open_question_is_put_again(yagent: CommandLine, model_server: ModelServer) -> None:
    model_server.play(
        {
            "Director": [Reply(calls=(Call("delegate_coding", {"task": "x"}),)), "done"],
            "Coding": [
                Reply(calls=(Call("run_bash", {"command": "touch made"}),)),
                hand_over("made"),
            ],
        }
    )
    async with Terminal() as terminal:
        process = await terminal.start(yagent, "-p", "go", stdout=asyncio.subprocess.PIPE)
        async with closing(process):
            await terminal.see("say why: ")
            terminal.seen = b""
            os.kill(process.pid, signal.SIGTSTP)
            await terminal.see("say why: ")
            assert b"Allow run_bash?" in terminal.seen
            terminal.type("y\n")
            assert (await ended(process)).code == 0
