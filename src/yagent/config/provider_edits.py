"""What adding, changing and removing a provider means as edits, and who refers to one (B-98, B-99)."""

from collections.abc import Mapping
from typing import Any

from yagent.config.declared import declared_in
from yagent.config.document import show_path
from yagent.config.edit import Edit, RemoveKey, RemoveSection, Scalar, SetKey
from yagent.config.problems import EditRefused
from yagent.config.schema import ProviderSection

PROVIDERS = ("global", "llm", "providers")
_EXCLUSIVE = {"api_key": "api_key_env", "api_key_env": "api_key"}


def write_provider(name: str, entries: Mapping[str, Scalar | None]) -> tuple[Edit, ...]:
    """Set these entries of a provider and leave its others; None takes one out. A key replaces a key's variable and vice versa.

    Raises:
        EditRefused: the name is empty, or an entry is no key of a provider.
    """
    unknown = sorted(set(entries) - set(declared_in(ProviderSection)))
    if unknown or not name.strip():
        raise EditRefused(
            f"A provider has no entry called {unknown[0]}." if unknown else "A provider needs a name.",
            where=f"Provider: {name}",
            fix=f"The entries are {', '.join(declared_in(ProviderSection))}.",
        )
    section = (*PROVIDERS, name)
    edits: list[Edit] = []
    for entry, value in entries.items():
        if value is None:
            edits.append(RemoveKey(section, entry))
            continue
        if entry in _EXCLUSIVE:
            edits.append(RemoveKey(section, _EXCLUSIVE[entry]))
        edits.append(SetKey(section, entry, value))
    return tuple(edits)


def delete_provider(document: Mapping[str, Any], name: str) -> tuple[Edit, ...]:
    """Take out a provider of `document` (as `decode_raw` gives it).

    Raises:
        EditRefused: something still refers to it; the text lists what.
    """
    refs = provider_refs(document, name)
    if refs:
        raise EditRefused(
            f"Provider {name} is in use and was not removed.",
            where=f"Used by: {', '.join(refs)}",
            fix="Point these to another provider first.",
        )
    return (RemoveSection((*PROVIDERS, name)),)


def provider_refs(document: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The dotted keys of `document` that name the provider: every `use_provider`, and every chain of fallbacks."""
    return tuple(_refs(document, (), name))


def _refs(table: Mapping[str, Any], path: tuple[str, ...], name: str) -> list[str]:
    found: list[str] = []
    for key, value in table.items():
        here = (*path, key)
        if isinstance(value, Mapping):
            found += _refs(value, here, name)
        elif key == "use_provider" and value == name:
            found.append(show_path(here))
        elif key == "fallback_providers" and isinstance(value, list) and path != (*PROVIDERS, name):
            names = [each.get("provider") if isinstance(each, Mapping) else each for each in value]
            if name in names:
                found.append(show_path(here))
    return found
