"""Whether the exit code of a command line hides those of other commands of a pipe. Tells only what to say beside it: when in doubt, no."""

from __future__ import annotations

import shlex

from yagent.patterns import pattern

_HEREDOC = pattern(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_OPERATOR = pattern(r"&>>?|[<>]+[&|]?|\|\||&&|\|&?|[;&\n()]")
_ENDS = frozenset({";", "&", "\n", "||"})


def exit_code_of_pipe(command: str) -> bool:
    """Whether the line's exit code is that of the last command of a pipe alone."""
    if "|" not in command or "pipefail" in command:
        return False
    lexer = shlex.shlex(_without_heredocs(command), posix=True, punctuation_chars="|&;()<>\n")
    lexer.whitespace = " \t\r"
    try:
        tokens = list(lexer)
    except ValueError:
        return False
    piped, ended, depth, before = False, False, 0, ""
    for token in tokens:
        operators = _OPERATOR.findall(token) if set(token) <= set("|&;()<>\n") else []
        if not operators and not depth:
            piped, ended = piped and not ended, False
        before = "" if not operators else before
        for operator in operators:
            depth += (operator == "(") - (operator == ")")
            if depth < 0:  # a pattern of `case`
                return False
            piped |= operator in ("|", "|&") and not depth and not ended
            ended |= operator in _ENDS and not depth and not (operator == "\n" and before in ("|", "|&", "&&"))  # a line that goes on
            before = operator if operator != "\n" else before
    return piped


def _without_heredocs(command: str) -> str:
    lines, kept = iter(command.split("\n")), []
    for line in lines:
        kept.append(line)
        for match in _HEREDOC.finditer(line):
            next((inner for inner in lines if inner.strip() == match.group(2)), None)
    return "\n".join(kept)
