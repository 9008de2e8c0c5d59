"""A strict, played model server over real HTTP: the one thing tests fake.

async with ModelServer() as server:
    server.play({"Director": director, ("Coding", "parser"): ["fixed"]})
    ...                                     # server.url is the base URL
server.check()                              # fails on every broken rule

async def director(agent: Agent) -> str:
    listing = await agent.call("list_dir", path=".")
    return f"I saw {len(listing)} characters."
"""

from tests.support.model_server.reply import Call, Chaos, ChaosSource, Reply, call, hand_over, seeded_chaos, status
from tests.support.model_server.scripts import Agent, Cast, Part, Script, ScriptError, chaotic, delegating
from tests.support.model_server.server import Exchange, ModelServer, Violation
from tests.support.model_server.view import RequestView, SeenCall, SeenResult

__all__ = [
    "Agent",
    "Call",
    "Cast",
    "Chaos",
    "ChaosSource",
    "Exchange",
    "ModelServer",
    "Part",
    "Reply",
    "RequestView",
    "Script",
    "ScriptError",
    "SeenCall",
    "SeenResult",
    "Violation",
    "call",
    "chaotic",
    "delegating",
    "hand_over",
    "seeded_chaos",
    "status",
]
