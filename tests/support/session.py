"""A whole session in the test's own process: real tools, real disk, real HTTP; only the model is played, and time."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from pathlib import Path
from typing import Any, TypeAlias

from tests.support.virtual_time import VirtualClock
from yagent.protocol.asks import Answer
from yagent.protocol.events import Event, UserHelpNeeded
from yagent.protocol.ops import AnswerAsk, ResumeTask, StartTask
from yagent.protocol.result import TaskResult
from yagent.runtime.clock import Clock
from yagent.runtime.supervise import Domain
from yagent.session.build import open_session
from yagent.session.engines import EngineSource
from yagent.session.request import Resume, RunFlags, SessionRequest
from yagent.session.session import Session

Person: TypeAlias = Callable[[UserHelpNeeded], Answer | Awaitable[Answer]]


@dataclass(slots=True)
class Opened:
    """An open session and everything it told. `do` runs a task to its end."""

    session: Session
    events: list[Event] = field(default_factory=list)

    async def do(self, prompt: str) -> TaskResult:
        """Run a task."""
        result = await self.session.submit(StartTask(prompt))
        assert result is not None
        return result

    async def go_on(self) -> TaskResult:
        """Go on where the record of a resumed session ends."""
        result = await self.session.submit(ResumeTask())
        assert result is not None
        return result

    def told(self, payload: type[Any]) -> list[Any]:
        """The payloads of one type, in order."""
        return [event.payload for event in self.events if isinstance(event.payload, payload)]


@dataclass(frozen=True, slots=True)
class Sessions:
    """Opens sessions for one home, workspace and model server. `environ` None means one provider described by `YAGENT_*`."""

    home: Path
    workspace: Path
    url: str

    def configure(self, text: str) -> None:
        """Write the user's configuration file."""
        place = self.home / ".yagent/config/config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o600)

    def environment(self, api_format: str = "openai", **more: str) -> dict[str, str]:
        """What a process would see."""
        provider = {"YAGENT_BASE_URL": self.url, "YAGENT_MODEL": "played-model", "YAGENT_API_FORMAT": api_format}
        return {"HOME": str(self.home), "PATH": os.environ["PATH"], **provider, **more}

    @asynccontextmanager
    async def open(
        self,
        *,
        api_format: str = "openai",
        person: Person | None = None,
        environ: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        source: EngineSource | None = None,
        resume: Resume | None = None,
        **flags: Any,
    ) -> AsyncIterator[Opened]:
        """A session; a `person` answers its asks."""
        seen = self.environment(api_format) if environ is None else environ
        request = SessionRequest(workspace=self.workspace, environ=seen, flags=RunFlags(**flags), can_ask=person is not None, resume=resume)
        async with open_session(request, clock or VirtualClock(), source=source) as session, Domain("test") as domain:
            opened = Opened(session)
            events = session.events()

            async def answer(asked: Person, needed: UserHelpNeeded) -> None:
                said = asked(needed)
                await session.submit(AnswerAsk(needed.request_id, await said if isawaitable(said) else said))

            async def watch() -> None:
                async for event in events:
                    opened.events.append(event)
                    if person is not None and isinstance(event.payload, UserHelpNeeded):
                        domain.go("answer", answer(person, event.payload))

            domain.go("watch", watch())
            yield opened
