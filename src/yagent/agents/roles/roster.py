"""Who there is (E-01): each role with its step limit and what becomes of a reply without a tool call (E-25)."""

from collections.abc import Mapping

from yagent.agents.loop.role import Role

DIRECTOR = Role("director", max_steps=100, demands_thought=True, is_delegated=False)
CODING = Role("coding", max_steps=150, nudges=2, demands_thought=True)
REPO = Role("repo", max_steps=50, nudges=1, nudge="repo_no_action")
CHAT = Role("chat", max_steps=50, wants_context=False)
DEVOPS = Role("devops", max_steps=50)

ROSTER: Mapping[str, Role] = {role.name: role for role in (DIRECTOR, CODING, REPO, CHAT, DEVOPS)}
