"""Loads what a run is likely to need later, while its first reply is awaited.

A start does without it. It is loaded early all the same: what is installed or edited while a run goes on must not become a part of it.
"""

import logging
import sys
from importlib import import_module

from yagent.protocol.events import Event
from yagent.runtime.bus import Subscription
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import in_thread

MOMENT = 0.25  # seconds after the first call begins: its request is on the way then

LATER = (
    *("yagent.workspace.shell_judge", "yagent.workspace.exit_codes"),
    *("yagent.rollout.checkpoint", "yagent.rollout.replay", "yagent.compression.tiers"),
)
DIALECTS = ("chat", "messages", "responses")  # each reads its replies with a part of its own

logger = logging.getLogger(__name__)


async def load_ahead(calls: Subscription[Event], clock: Clock) -> None:
    """Load it a moment after the first of these events. What cannot be loaded is missed by whoever needs it."""
    async for _ in calls:
        calls.close()
        await clock.sleep(MOMENT)
        await in_thread(_load)


def _load() -> None:
    spoken = [f"yagent.llm.dialects.{name}" for name in DIALECTS if f"yagent.llm.dialects.{name}" in sys.modules]
    for name in (*(f"{dialect}.decode" for dialect in spoken), *LATER):
        try:
            import_module(name)
        except (ImportError, SyntaxError) as failure:
            logger.warning("%s cannot be loaded: %s", name, failure)
            return
