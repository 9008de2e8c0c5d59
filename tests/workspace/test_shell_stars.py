"""Which options the star of an allow rule covers, and which must be spelled out in it, in whatever way they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.permission_room import Room
from yagent.workspace.permissions import Decision

ALLOW, ASK = Decision.ALLOW, Decision.ASK


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room(tmp_path)
    room.write("f")
    return room


BEYOND_A_STAR = [
    *("pytest -qc evil.ini", "pytest -qo addopts=-pevil", "pytest -xpevil", "pytest -p evil", "pytest --rootd=x", "pytest --rootdir=x"),
    *("pytest --pdbcls=evil:x", "py.test -qc evil.ini", "git push -qf", "git push -qd origin x", "git push origin :master"),
    *("git push origin +master", "git push --del origin x", "git push --forc", "git push --force-with-lease", "git push --mirr"),
    *("git push --prun origin", "git commit -an", "git commit -anm x", "git commit -nam x", "git commit --no-veri", "git branch -qD x"),
    *("git branch -vM x y", "git tag -af x", "git tag -fam x y", "git rebase -qx ls", "git rebase --exe ls", "git checkout -qB x"),
    *("rm -vrf x", "rm -vR x", "rm --rec x", "rm --forc x", "sort -ro/etc/x f", "sort -ro x f", "sort --outp=x f", "sed -ni p f"),
    *("sed -nEi.bak p f", "sed --in-pl p f", "sed -nfx f", "tar -xvPf x", "tar xvPf x", "tar -xvf x --to-comman=ls", "tar -vxC/ -f x"),
    *(
        "tar xf x --us=ls",
        "tar -vxIls -f x",
        "make -kf x",
        "make -sC x",
        "make --eva=x",
        "make CC=x",
        "npm install -Dg x",
        "npm i --glob x",
    ),
    *("rg -nz x", "eslint -qc x", "cargo build -vZ x", "go test --exec=ls", "go test -exec ls", "find . -fprintf x y", "mypy --config-f=x"),
    *(
        "uv run pytest -qc evil.ini",
        "uv run pytest -p evil",
        "poetry run pytest -o x=y",
        "python -m pytest -qpevil",
        "timeout 9 pytest -qc x",
    ),
    *("tox -qc x", "pylint --init-h=x", "pylint --load-p=x", "mocha -br x", "jest -bc x", "ninja -vf x", "rspec -brx", "mvn test -f x"),
    *("gradle test -I x", "just test -f x", "rake test -sfx", "nox -f x", "phpunit --bootst=x", "pnpm add -Dg x", "yarn add --cwd x y"),
]


@pytest.mark.parametrize("line", BEYOND_A_STAR)
def test_a_star_in_a_rule_does_not_cover_an_option_that_does_more_however_it_is_spelled(room: Room, line: str) -> None:
    words = line.split(" ")
    verb = " ".join(
        words[: 3 if words[0] in ("uv", "poetry", "python", "timeout") else 2 if words[0] in ("git", "npm", "cargo", "go") else 1]
    )
    verdict = room.shell(line, room.permissions(allow=[f"shell({verb} *)"]))
    assert verdict.decision is ASK, verdict.explanation()
    exact = room.permissions(allow=[f"shell({line.replace('*', '')})"])
    assert room.shell(line, exact).decision is ALLOW, "a rule that spells it out covers it"


@pytest.mark.parametrize(
    "line",
    [
        *("pytest -qx", "pytest -vvs -k 'a or b'", "pytest -kcompile", "pytest -ra", "pytest -rpfE", "pytest -n4", "pytest -nauto -lq"),
        *(
            "pytest -mslow_cop tests",
            "pytest -Werror::x.Copy",
            "pytest --maxfail=1 --tb=short",
            "pytest --cov=src --durations 5",
            "pytest --co -h",
        ),
        *(
            "git commit -am fix",
            "git commit -amfixed",
            "git commit -uno -am x",
            "git commit --amend",
            "git commit --edit",
            "git commit -vs",
        ),
        *("git push -u origin main", "git push -q origin main:main", "git tag -am fix v1", "git tag -amfix v1", "git stash pop --index"),
        *("git add -A", "git merge -mfix main", "git merge -sours main", "git stash push -mfixed", "git branch -umain"),
        *("sort -rnk2 f", "sort -t: -k1,1 f", "sort -kTo f", "sed -nE s/a/b/p f", "sed -es/i/f/ f", "tar -xvzf a", "tar xzf a.tgz"),
        *(
            "rm -v f",
            "make -j4 -s",
            "make -sk all",
            "npm test --silent",
            "cargo build --target x",
            "cargo test -q -pfoo_Z",
            "go test -v ./...",
        ),
        *("uv run pytest -qx", "uv run pytest -k copy", "python -m pytest -qx", "timeout 9 pytest -qx", "eslint -f json src", "jest -i"),
        *(
            "mypy --strict --python-version 3.11 src",
            "tsc --noEmit -p .",
            "pyright -p .",
            "vitest run --reporter verbose",
            "mvn test -fae -Dtest=X",
            "gradle test -q -xcheck",
            "ninja -j4 -v",
            "rg -n x",
            "mocha -bR dot",
        ),
    ],
)
def test_harmless_letters_and_words_are_covered_by_a_star(room: Room, line: str) -> None:
    verdict = room.shell(line, room.permissions(allow=[f"shell({line.split(' ')[0]} *)"]))
    assert verdict.decision is ALLOW, verdict.explanation()
