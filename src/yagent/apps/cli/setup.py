"""`yagent setup`: until the wizard exists it says how to set up by hand."""

from yagent.apps.cli.progress import write_to_standard_error
from yagent.protocol.stop import USAGE

TEXT = """The set-up wizard is not part of this version yet. Until then, either export your provider's key, for example
  export OPENAI_API_KEY=…        (or ANTHROPIC_API_KEY, DEEPSEEK_API_KEY, …: docs/configuration.md has the table)
or describe one endpoint:  YAGENT_BASE_URL=http://localhost:11434/v1 YAGENT_MODEL=… yagent -p "…" """


def command() -> None:
    """Set up a provider."""
    write_to_standard_error(TEXT.rstrip())
    raise SystemExit(USAGE)
