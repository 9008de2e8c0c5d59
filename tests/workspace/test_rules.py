"""The rules of the user: grammar, globs and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from yagent.workspace.rules import Anchors, Match, RuleError, could_match_below, matches_name, matches_path, matches_words, parse_rule

ANCHORS = Anchors((Path("/w"),), Path("/home/u"))


@pytest.mark.parametrize(
    "text", ["", "read", "read()", "write(x)", "shell()", "shell(  )", "shell('a)", "shell(-x)", "Read(x)", "read(x", "shell(a) b"]
)
def test_a_rule_that_is_not_understood_is_an_error_and_never_dropped(text: str) -> None:
    with pytest.raises(RuleError, match=r"not understood|names no program"):
        parse_rule(text)


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("read(a.txt)", "/w/a.txt", True),
        ("read(./a.txt)", "/w/a.txt", True),
        ("read(a.txt)", "/w/sub/a.txt", False),
        ("read(*.txt)", "/w/a.txt", True),
        ("read(*.txt)", "/w/sub/a.txt", False),
        ("read(**/*.txt)", "/w/sub/a.txt", True),
        ("read(**/*.txt)", "/w/a.txt", True),
        ("read(src/**)", "/w/src/a/b", True),
        ("read(src/**)", "/w/srcs/a", False),
        ("read(/etc/**)", "/etc/passwd", True),
        ("read(~/x)", "/home/u/x", True),
        ("read(a?.txt)", "/w/ab.txt", True),
        ("read([ab].txt)", "/w/b.txt", True),
        ("read([!ab].txt)", "/w/b.txt", False),
        ("read([[]x].txt)", "/w/[x].txt", True),
        ("read(A.TXT)", "/w/a.txt", False),
    ],
)
def test_an_allow_rule_matches_exactly_what_it_says(rule: str, path: str, matches: bool) -> None:
    assert matches_path(parse_rule(rule), [Path(path)], ANCHORS, towards_matching=False) is matches


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("read(secrets.env)", "/w/deep/below/secrets.env"),
        ("read(secrets.env)", "/w/SECRETS.ENV"),
        ("read(secrets.env)", "/elsewhere/secrets.env"),
        ("read(secret)", "/w/secret/inside/it"),
        ("read(secret/)", "/w/secret/inside"),
        ("read(café)", "/w/cafe\u0301"),
    ],
)
def test_a_deny_rule_errs_towards_matching(rule: str, path: str) -> None:
    assert matches_path(parse_rule(rule), [Path(path)], ANCHORS, towards_matching=True)


def test_an_allow_rule_must_match_the_asked_and_the_resolved_name_a_deny_rule_either() -> None:
    names = [Path("/w/link"), Path("/elsewhere/file")]
    assert not matches_path(parse_rule("read(link)"), names, ANCHORS, towards_matching=False)
    assert matches_path(parse_rule("read(link)"), names, ANCHORS, towards_matching=True)


@pytest.mark.parametrize(
    ("rule", "words", "match"),
    [
        ("shell(git log *)", ("git", "log"), Match.YES),
        ("shell(git log *)", ("git", "log", "-p", "x"), Match.YES),
        ("shell(git log *)", ("git", "push"), Match.NO),
        ("shell(git log)", ("git", "log", "-p"), Match.NO),
        ("shell(git * x)", ("git", "a", "b", "x"), Match.YES),
        ("shell(npm run test:*)", ("npm", "run", "test:unit"), Match.YES),
        ("shell('a b' *)", ("a b", "c"), Match.YES),
        ("shell('a b' *)", ("a", "b"), Match.NO),
        ("shell(rm *)", ("rm", None), Match.YES),
        ("shell(rm -f *)", ("rm", None), Match.MAYBE),
        ("shell(rm * x)", ("rm", None), Match.MAYBE),
        ("shell(git push)", ("git", None), Match.MAYBE),
        ("shell(git push)", (None,), Match.MAYBE),
        ("shell(git push)", ("curl", None), Match.NO),
        ("shell(*)", ("anything", "at", "all"), Match.YES),
        ("shell(*)", (), Match.YES),
    ],
)
def test_words_are_compared_one_by_one(rule: str, words: tuple[str | None, ...], match: Match) -> None:
    assert matches_words(parse_rule(rule), words) is match


def test_tool_names_may_hold_a_star() -> None:
    assert matches_name(parse_rule("tool(mcp_*)"), "mcp_files_read")
    assert not matches_name(parse_rule("tool(mcp_*)"), "read_file")


def test_what_could_match_below_a_directory_is_judged_by_the_fixed_beginning() -> None:
    assert could_match_below(parse_rule("read(src/secret/*.env)"), Path("/w"), ANCHORS)
    assert could_match_below(parse_rule("read(secrets.env)"), Path("/w/docs"), ANCHORS)
    assert not could_match_below(parse_rule("read(src/secret/*.env)"), Path("/w/docs"), ANCHORS)
