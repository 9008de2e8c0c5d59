"""What the user allowed on being asked: for this session (in memory) or for this project (in the data home's settings file).

Project grants are stored narrow, as the exact rules that were shown, under the project's resolved path:
`{"authorized_projects": {"/path": {"rules": ["shell(pytest *)"]}}}`. Other content of the file survives. A file that cannot be read
counts as no grants and is never overwritten: it is kept aside under another name when the next grant is stored.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yagent.errors import YagentError
from yagent.protocol.asks import Offer
from yagent.runtime import atomic, supervise
from yagent.runtime.clock import Clock
from yagent.runtime.regular_file import open_regular
from yagent.workspace.rules import Rule, RuleError, parse_rule

PROJECTS = "authorized_projects"

logger = logging.getLogger(__name__)


class GrantsFileError(YagentError):
    """The settings file does not hold what it should."""


class Grants:
    """The grants of one session in one project, shared by all its agents.

    `settings_file` None keeps nothing beyond the session. Call `load` once before use.
    """

    def __init__(self, project: Path, settings_file: Path | None, *, clock: Clock) -> None:
        self._project = project
        self._file = settings_file
        self._clock = clock
        self._session: list[Rule] = []
        self._stored: list[Rule] = []

    def rules(self) -> Sequence[Rule]:
        """Return everything granted so far."""
        return (*self._session, *self._stored)

    async def load(self) -> str | None:
        """Read the project's grants; return a sentence to show when the file, or a rule in it, could not be used."""
        if self._file is None:
            return None
        try:
            content = await supervise.in_thread(_read, self._file)
        except GrantsFileError as error:
            return str(error)
        self._stored, problems = _usable(_texts_of(content, self._key()))
        return "\n".join(problems) or None

    async def add(self, offer: Offer) -> str | None:
        """Keep what the user chose; return a sentence to show when it could only be kept for the session.

        Once is kept nowhere. Raises RuleError when the rule is not one.
        """
        if offer.scope == "once" or not offer.rule:
            return None
        rule = parse_rule(offer.rule)
        if offer.scope == "project" and self._file is not None:
            try:
                await self._store(self._file, rule.text)
            except (OSError, YagentError) as error:
                self._session.append(rule)
                return f"the grant {rule.text} holds for this session only: {self._file} could not be written ({error})"
            self._stored.append(rule)
            return None
        self._session.append(rule)
        return None

    def _key(self) -> str:
        return os.path.realpath(self._project)

    async def _store(self, file: Path, rule: str) -> None:
        await supervise.in_thread(atomic.make_private_directory, file.parent)
        async with atomic.locked(file, clock=self._clock):
            await supervise.in_thread(_rewrite, file, self._key(), rule)


def _read(file: Path) -> dict[str, Any]:
    try:
        with open_regular(file) as stream:
            content = json.loads(stream.read())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError, atomic.NotRegularFileError) as error:
        raise GrantsFileError(f"{file} cannot be read ({error}), so no grants of earlier sessions hold; repair or remove it") from error
    if not isinstance(content, dict) or not isinstance(content.get(PROJECTS, {}), dict):
        raise GrantsFileError(f"{file} does not hold grants, so none of earlier sessions hold; repair or remove it")
    return content


def _texts_of(content: dict[str, Any], key: str) -> list[str]:
    project = content.get(PROJECTS, {}).get(key)
    rules = project.get("rules") if isinstance(project, dict) else None
    return [text for text in rules if isinstance(text, str)] if isinstance(rules, list) else []


def _usable(texts: Sequence[str]) -> tuple[list[Rule], list[str]]:
    rules: list[Rule] = []
    problems: list[str] = []
    for text in texts:
        try:
            rules.append(parse_rule(text))
        except RuleError as error:
            problems.append(f"a stored grant is left out: {error}")
    return rules, problems


def _rewrite(file: Path, key: str, rule: str) -> None:
    try:
        content = _read(file)
    except GrantsFileError:
        _keep_aside(file)
        content = {}
    projects = content.setdefault(PROJECTS, {})
    project = projects.get(key)
    rules = [*(text for text in _texts_of(content, key) if text != rule), rule]
    projects[key] = {**(project if isinstance(project, dict) else {}), "rules": rules}
    atomic.write_bytes(file, (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode(), mode=0o600)


def _keep_aside(file: Path) -> None:
    number = 1
    while os.path.lexists(aside := file.with_name(f"{file.name}.damaged-{number}")):
        number += 1
    atomic.rename(file, aside)
    logger.warning("%s could not be read and is kept as %s", file, aside)
