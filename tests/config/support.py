"""What config tests share: a config file in a temporary home, read as the program reads it."""

from collections.abc import Mapping
from pathlib import Path

from yagent.config.decode import Decoded, decode
from yagent.config.load import Loaded, load, parse
from yagent.config.providers import ProviderOptions, Resolution, resolve
from yagent.runtime.paths import DataHome


def home_at(root: Path) -> DataHome:
    return DataHome(root, root)


def decoded(text: str, environ: Mapping[str, str] | None = None) -> Decoded:
    return decode(parse(text, Path("c.toml")), text=text, origin="c.toml", environ=environ or {})


def loaded(tmp_path: Path, text: str | bytes, environ: Mapping[str, str] | None = None) -> Loaded:
    home = home_at(tmp_path / "home")
    home.config_file.parent.mkdir(parents=True, exist_ok=True)
    home.config_file.write_bytes(text.encode() if isinstance(text, str) else text)
    home.config_file.chmod(0o600)
    return load(None, environ=environ or {}, home=home)


def resolved(
    tmp_path: Path, text: str = "", environ: Mapping[str, str] | None = None, options: ProviderOptions | None = None
) -> Resolution:
    return resolve(loaded(tmp_path, text, environ), environ or {}, options or ProviderOptions())
