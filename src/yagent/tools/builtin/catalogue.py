"""All shipped tools, in the order in which models see them: looking, changing, running, thinking, delegating, ending."""

from collections.abc import Callable, Sequence

from yagent.tools.builtin.cognition import cognition
from yagent.tools.builtin.delegation import delegations
from yagent.tools.builtin.flow import agent_exit, ask_user_for_help, load_tool
from yagent.tools.builtin.reading import reading
from yagent.tools.builtin.searching import search_by_regex
from yagent.tools.builtin.shell import shell
from yagent.tools.builtin.writing import writing
from yagent.tools.spec import AnySpec
from yagent.workspace.search import Searcher


def shipped_tools(searcher: Searcher, cognition_prompt: Callable[[str], str], notes: Sequence[AnySpec]) -> tuple[AnySpec, ...]:
    """The tools of this package. `cognition_prompt(name)` gives a file of `prompts/cognition/`; `notes` read those of a session."""
    return (
        *reading(),
        search_by_regex(searcher),
        *writing(),
        *shell(),
        *cognition(cognition_prompt),
        *notes,
        *delegations(),
        load_tool(),
        ask_user_for_help(),
        agent_exit(),
    )
