"""Keys that are gone, spelled otherwise now, or not in effect yet: what the file says about them, and what to write instead."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

# "*" stands for one part of a path; a hint for a table covers all that is in it.
REMOVED_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "app": "its settings are in [agent] now",
        "codeseek.knowledge": "there is nothing to set any more",
        "codeindex.knowledge": "there is nothing to set any more",
        "enhanced_commander.enable": "compression.enable_context_compression is the only switch",
        "compression.enable": "compression.enable_context_compression is the only switch",
        "enable_streaming": "replies are always streamed",
        "*.enable_streaming": "replies are always streamed",
        "auto_checkpoint": "git_checkpoint.enabled is the switch",
        "*.auto_checkpoint": "git_checkpoint.enabled is the switch",
        "browser.headless": "browser.mode is `headless`, `headful` or `attach`",
        "browser.browser_path": "it is browser.chrome_path now",
    }
)

REMOVED_PROVIDER_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "aws_region": "write the endpoint into api_base_url",
        "aws_profile": "name the key's variable in api_key_env",
        "model_provider": "the name of the table is the provider's name, api_format its protocol",
    }
)

RENAMED_SECTIONS: Final[Mapping[str, str]] = MappingProxyType({"enhanced_commander": "compression", "codeseek": "codeindex"})

# Known to the product and without a consumer in this version: tolerated with one note, and not documented as keys (B-10).
NOT_YET: Final = frozenset(
    {
        "blueprint",
        "browser",
        "codeindex",
        "git_checkpoint",
        "keywords",
        "mcp",
        "routing",
        "skills",
        "tui",
        "agent.browser_max_steps",
        "llm.circuit_breaker_reset_timeout",
        "llm.circuit_breaker_threshold",
        "llm.enable_fallback",
        "llm.fallback_max_retries",
        "global.llm.providers.*.fallback_providers",
    }
)


def removed_hint(path: tuple[str, ...]) -> str | None:
    """What to do instead of the removed key `path`; None when it is not one."""
    for pattern, hint in REMOVED_KEYS.items():
        if _matches(pattern, path):
            return hint
    if len(path) == 5 and path[:3] == ("global", "llm", "providers"):
        return REMOVED_PROVIDER_KEYS.get(path[4])
    return None


def is_not_yet(path: tuple[str, ...]) -> bool:
    """Whether `path` is a key or section of the product that has no effect in this version."""
    return any(_matches(pattern, path) for pattern in NOT_YET)


def _matches(pattern: str, path: tuple[str, ...]) -> bool:
    parts = pattern.split(".")
    return len(parts) == len(path) and all(part in ("*", name) for part, name in zip(parts, path, strict=True))
