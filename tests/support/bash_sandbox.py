"""Lines made to fool a reader of shell syntax, and a folder in which bash itself shows what they do."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = (
    "bash",
    "sh",
    "cat",
    "ls",
    "head",
    "tail",
    "sort",
    "wc",
    "grep",
    "sed",
    "find",
    "xargs",
    "env",
    "nice",
    "timeout",
    "touch",
    "tee",
    "tr",
    "uniq",
)
"""All that a line can start: nothing that deletes, connects or kills."""

SEEDS = (
    "ls; BAIT",
    "echo $(BAIT)",
    "echo `BAIT`",
    'echo "$(BAIT)" done',
    "cat <<EOF\n$(BAIT)\nEOF\necho after",
    "cat <<'EOF'\n$(BAIT)\nEOF\necho after",
    "cat <<EOF; ls\nBAIT\nEOF\nBAIT",
    "cat <<-EOF\n\tBAIT\n\tEOF\necho x",
    "cat <<A <<B\nBAIT\nA\n$(BAIT)\nB\n",
    'echo "$(cat <<EOF\nit\'s `BAIT`\nEOF\n)"',
    "bash <<'EOF'\nls\nBAIT\nEOF",
    "bash <<< 'BAIT'",
    "sh -c 'ls; BAIT'",
    "env A=1 sh -c 'BAIT'",
    "timeout 1 nice BAIT",
    "echo x | xargs -I{} BAIT",
    "find . -maxdepth 0 -exec BAIT \\;",
    "case x in x) BAIT;; esac",
    "if true; then ls; else BAIT; fi",
    "for f in a b; do cat $f; BAIT; done",
    "while false; do :; done; BAIT",
    "{ ls; BAIT; }",
    "(ls; BAIT)",
    "! ls || BAIT",
    "[[ -f a ]] && cat a || BAIT",
    "echo a#b #BAIT\nls",
    "echo ${x:-$(BAIT)} ${y:-z}",
    "cat <(BAIT)",
    "ls > >(BAIT)",
    "f() { BAIT; }; f",
    "eval BAIT",
    "x='BAIT'; $x",
    "echo {a,b}; {ls,-l}",
    "echo 'a;BAIT'",
    'echo "a;BAIT"',
    "echo a\\;BAIT",
    "echo $'a\\';BAIT #'",
    "echo \\\nBAIT",
    "echo a \\# BAIT",
    "cat a 2>&1 >/dev/null | head -1",
    "ls *.txt [ab] ?",
    "time ls; BAIT",
    "echo \"${x:-'}\" BAIT #'}",
    "echo $((1 + 2)); BAIT",
    "cd sub && ls; BAIT",
    "sort a; sort -o BAITFILE a",
    "sed -n 1p a; sed -n 'w BAITFILE' a",
    "uniq a BAITFILE",
    "echo x > BAITFILE",
    "echo x >| BAITFILE; ls &> BAITFILE",
    "ls 1<>BAITFILE",
    "tee BAITFILE < a",
    "grep -r x . ; find . -fprint BAITFILE",
)

PIECES = (
    *(
        "'",
        '"',
        "`",
        "\\",
        "$",
        "(",
        ")",
        "{",
        "}",
        ";",
        "&",
        "|",
        "<",
        ">",
        "#",
        " ",
        "\n",
        "\t",
        "!",
        "*",
        "~",
        "=",
        "$(",
        "${",
        "$'",
        '$"',
    ),
    *(
        "<<EOF",
        "\nEOF\n",
        "<<-'EOF'",
        "<<<",
        "<(",
        ">(",
        "&&",
        "||",
        ";;",
        "esac",
        "case a in",
        "a)",
        "if",
        "then",
        "fi",
        "do",
        "done",
        "[[",
        "]]",
    ),
    *(
        "((",
        "))",
        "$((",
        "eval ",
        "sh -c ",
        "x=",
        "$x",
        "${x}",
        "{a,b}",
        "\\\n",
        "2>&1",
        "&>",
        ">&",
        "|&",
        "-- ",
        "-n ",
        "a",
        "echo ",
        "ls ",
        "cat ",
    ),
    *(
        "BAIT",
        "; BAIT",
        "$(BAIT)",
        "`BAIT`",
        "\nBAIT\n",
        "'BAIT'",
        "time ",
        "coproc ",
        "function f ",
        "f() ",
        "for f in a b",
        "while ",
        "\u00a0",
        "\r",
        "\v",
    ),
)


def lines(seed: int, count: int, bait: str, bait_file: str) -> list[str]:
    """Return lines made from the seeds by cutting, joining and inserting pieces; BAIT becomes a command that leaves a mark."""
    source = random.Random(seed)
    made = []
    for number in range(count):
        line = SEEDS[number % len(SEEDS)] if number < len(SEEDS) else _mutated(source)
        made.append(line.replace("BAITFILE", bait_file).replace("BAIT", bait))
    return made


def _mutated(source: random.Random) -> str:
    line = source.choice(SEEDS)
    for _ in range(source.randint(1, 4)):
        position = source.randint(0, len(line))
        match source.randrange(5):
            case 0:
                line = line[:position] + source.choice(PIECES) + line[position:]
            case 1:
                end = min(len(line), position + source.randint(1, 4))
                line = line[:position] + line[end:]
            case 2:
                line = line + source.choice(("; ", "\n", " && ", " | ", " ", "")) + source.choice(SEEDS)
            case 3:
                other = source.choice(SEEDS)
                line = line[:position] + other[source.randint(0, len(other)) :]
            case _:
                end = min(len(line), position + source.randint(1, 6))
                line = (
                    line[:position]
                    + source.choice(("'", '"', "\\", "$(", "{"))
                    + line[position:end]
                    + source.choice(("'", '"', ")", "}"))
                    + line[end:]
                )
    return line


@dataclass(frozen=True)
class Sandbox:
    """A workspace inside a base folder that both start out known; `run` tells which files appeared or changed."""

    base: Path

    @property
    def workspace(self) -> Path:
        return self.base / "work"

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": str(self.base / "bin"), "HOME": str(self.home), "LC_ALL": "C.UTF-8"}

    def prepare(self) -> None:
        """Make the folder anew."""
        for name in ("work", "home", "bin"):
            shutil.rmtree(self.base / name, ignore_errors=True)
            (self.base / name).mkdir(parents=True)
        for name in PROGRAMS:
            found = shutil.which(name)
            if found is not None:
                (self.base / "bin" / name).symlink_to(found)
        (self.workspace / "sub").mkdir()
        for name in ("a", "b", "c.txt"):
            (self.workspace / name).write_text(f"{name}\n")

    def run(self, line: str) -> set[str]:
        """Run a line with bash; return the paths that changed, relative to the base."""
        before = self._state()
        process = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-c", f"ulimit -t 2 -f 2000\n{line}"],
            cwd=self.workspace,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=3)
        _end(process)
        after = self._state()
        changed = {path for path in before | after if before.get(path) != after.get(path)}
        if changed:
            self.prepare()
        return changed

    def _state(self) -> dict[str, tuple[int, int]]:
        found = {}
        for directory, _, names in os.walk(self.base):
            for name in names:
                path = Path(directory, name)
                status = path.lstat()
                found[str(path.relative_to(self.base))] = (status.st_mtime_ns, status.st_size)
        return found


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
