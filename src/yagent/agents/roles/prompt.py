"""The system prompt of a role, for the agents that work in a run."""

from collections.abc import Collection

from yagent.agents.loop.role import Role
from yagent.prompts.text import Prompts
from yagent.tools.profiles import PROFILES

TEAM = ("repo", "coding", "devops", "chat")  # in the order in which they are shown


def system_prompt(prompts: Prompts, role: Role, language: str, left_out: Collection[str]) -> str:
    """The prompt in `language`. It names no agent that was `left_out` as one to delegate to, and says that it was.

    Raises `PromptError` when a file is missing, or has a variable that is not known here.
    """
    name, delegates = f"{role.name}.prompt.md", PROFILES[role.name].delegates
    offered = [prompts.text(f"agents/{each}.md") for each in TEAM if each in delegates and each not in left_out]
    known = {"language": language, "agents": "\n".join(offered)}
    wanted = prompts.variables(name)
    text = prompts.text(name, **{each: value for each, value in known.items() if each in wanted})
    missing = [f"`delegate_{each}`" for each in TEAM if each in delegates and each in left_out]
    return f"{text}\n\n{prompts.text('agents/left_out.md', agents=', '.join(missing))}" if missing else text
