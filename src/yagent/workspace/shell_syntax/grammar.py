"""What tree-sitter-bash sees in a line: the second opinion on where commands begin, and which command's end is the line's.

Loaded when the first line is judged (about 30 ms).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from yagent.workspace.shell_syntax.lexer import NotUnderstoodError

if TYPE_CHECKING:
    from tree_sitter import Node as Node
    from tree_sitter import Parser

_HEADS = frozenset({"command_name", "declaration_command", "test_command", "unset_command"})
_WITHIN_WORDS = frozenset(
    {"command_substitution", "process_substitution", "string", "expansion", "arithmetic_expansion", "concatenation", "translated_string"}
)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def root_of(text: str) -> Node:
    """The tree of a line; its `has_error` says whether all of it was understood."""
    return _parser().parse(text.encode("utf-8", "replace")).root_node


def command_positions(text: str) -> frozenset[int]:
    """Return where each command's name begins, as indices into the text; commands inside words are not looked for.

    Raises NotUnderstoodError when the grammar finds an error.
    """
    encoded = text.encode("utf-8", "surrogateescape")
    root = _parser().parse(encoded).root_node
    if root.has_error:
        raise NotUnderstoodError("it has a syntax error, or a form that is not known here")
    starts: list[int] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _HEADS:
            starts.append(node.start_byte)
        if node.type not in _WITHIN_WORDS and node.type != "command_name":
            waiting.extend(node.children)
    if text.isascii():
        return frozenset(starts)
    return frozenset(len(encoded[:start].decode("utf-8", "surrogateescape")) for start in starts)
