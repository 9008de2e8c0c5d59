"""`yagent setup`: until the wizard exists it says how to set up by hand."""

import os

import typer

from yagent.apps.cli.progress import write_to_standard_error
from yagent.config.vendors import VENDORS
from yagent.protocol.stop import USAGE
from yagent.records import dataclass
from yagent.runtime.paths import DataHome
from yagent.session.build import user_home

TEXT = """The set-up wizard is not part of this version yet. Until then there are three ways, each enough by itself:

1. Export your provider's key: {keys}
     export OPENAI_API_KEY=…
2. Describe one endpoint, for example a local server:
     YAGENT_BASE_URL=http://localhost:11434/v1 YAGENT_MODEL=… yagent -p "…"
3. Write {file}:
     [global.llm]
     use_provider = "mine"
     [global.llm.providers.mine]
     api_base_url = "https://…/v1"
     api_key_env = "MY_KEY"
     model = "…" """


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOptions:
    """There are none yet."""


def command(context: typer.Context, options: SetupOptions) -> None:
    """Say how to set up a provider; the wizard comes later."""
    keys = ", ".join(vendor.key_variables[0] for vendor in VENDORS if vendor.key_variables)
    file = DataHome.from_environment(os.environ, user_home(os.environ)).config_file
    write_to_standard_error(TEXT.format(keys=keys, file=file).rstrip())
    raise SystemExit(USAGE)
