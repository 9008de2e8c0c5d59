"""The vendors known without a config file, in the order in which they are tried.

Each row is data: nothing elsewhere asks for a vendor by name. Default models are what each vendor's newest general model for tool use
was at `MODELS_AS_OF`; a user's own choice always wins.
"""

from typing import Final
from urllib.parse import urlsplit

from yagent.records import dataclass

MODELS_AS_OF: Final = "2026-05"


@dataclass(frozen=True, slots=True)
class Vendor:
    """One row. `base_url` and `model` are defaults; `model` None means: the only one the endpoint lists.

    The first of `key_variables` that is set holds the key, the first of `url_variables` that is set replaces the URL. A row counts
    as set when one of either is. `formats` are the protocols the default endpoint speaks, the first is the default.
    """

    name: str
    title: str
    key_variables: tuple[str, ...]
    url_variables: tuple[str, ...]
    base_url: str
    model: str | None
    formats: tuple[str, ...] = ("openai",)
    model_variables: tuple[str, ...] = ()


VENDORS: Final = (
    Vendor(
        "openai",
        "OpenAI",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        "https://api.openai.com/v1",
        "gpt-5.5",
        ("openai", "responses"),
        ("OPENAI_MODEL",),
    ),
    Vendor(
        "anthropic",
        "Anthropic",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_BASE_URL",),
        "https://api.anthropic.com",
        "claude-sonnet-4-6",
        ("anthropic",),
        ("ANTHROPIC_MODEL",),
    ),
    Vendor(
        "deepseek",
        "DeepSeek",
        ("DEEPSEEK_API_KEY",),
        ("DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"),
        "https://api.deepseek.com",
        "deepseek-v4-pro",
    ),
    Vendor(
        "openrouter",
        "OpenRouter",
        ("OPENROUTER_API_KEY",),
        ("OPENROUTER_BASE_URL", "OPENROUTER_API_BASE"),
        "https://openrouter.ai/api/v1",
        "anthropic/claude-sonnet-4.6",
    ),
    Vendor(
        "dashscope",
        "Alibaba Bailian (Qwen)",
        ("DASHSCOPE_API_KEY",),
        ("DASHSCOPE_BASE_URL",),
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        "qwen3.6-plus",
    ),
    Vendor("moonshot", "Moonshot (Kimi)", ("MOONSHOT_API_KEY",), ("MOONSHOT_BASE_URL",), "https://api.moonshot.ai/v1", "kimi-k2.6"),
    Vendor("zai", "Z.ai (GLM)", ("ZAI_API_KEY",), ("ZAI_BASE_URL",), "https://api.z.ai/api/paas/v4", "glm-5.1"),
    Vendor(
        "zhipu",
        "Zhipu BigModel (GLM)",
        ("ZHIPU_API_KEY", "ZHIPUAI_API_KEY"),
        ("ZHIPU_BASE_URL", "ZHIPUAI_BASE_URL"),
        "https://open.bigmodel.cn/api/paas/v4",
        "glm-5.1",
    ),
    Vendor("mistral", "Mistral", ("MISTRAL_API_KEY",), ("MISTRAL_BASE_URL",), "https://api.mistral.ai/v1", "mistral-medium-latest"),
    Vendor(
        "siliconflow",
        "SiliconFlow",
        ("SILICONFLOW_API_KEY",),
        ("SILICONFLOW_BASE_URL",),
        "https://api.siliconflow.com/v1",
        "zai-org/GLM-5.1",
    ),
    Vendor(
        "mimo",
        "Xiaomi MiMo",
        ("MIMO_API_KEY", "XIAOMI_API_KEY"),
        ("MIMO_BASE_URL", "XIAOMI_BASE_URL"),
        "https://api.xiaomimimo.com/v1",
        "mimo-v2.5-pro",
    ),
    Vendor(
        "gemini",
        "Google Gemini",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("GEMINI_BASE_URL",),
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-3.5-flash",
    ),
    Vendor("groq", "Groq", ("GROQ_API_KEY",), ("GROQ_BASE_URL",), "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    Vendor("xai", "xAI", ("XAI_API_KEY",), ("XAI_BASE_URL",), "https://api.x.ai/v1", "grok-4.3"),
    Vendor("together", "Together", ("TOGETHER_API_KEY",), ("TOGETHER_BASE_URL",), "https://api.together.xyz/v1", "moonshotai/Kimi-K2.6"),
    Vendor("cerebras", "Cerebras", ("CEREBRAS_API_KEY",), ("CEREBRAS_BASE_URL",), "https://api.cerebras.ai/v1", "zai-glm-4.7"),
    Vendor(
        "fireworks",
        "Fireworks",
        ("FIREWORKS_API_KEY",),
        ("FIREWORKS_BASE_URL",),
        "https://api.fireworks.ai/inference/v1",
        "accounts/fireworks/models/kimi-k2p6",
    ),
    Vendor("lmstudio", "LM Studio", ("LMSTUDIO_API_KEY",), ("LMSTUDIO_BASE_URL", "LM_STUDIO_BASE_URL"), "http://127.0.0.1:1234/v1", None),
    Vendor("llamacpp", "llama.cpp", (), ("LLAMACPP_BASE_URL", "LLAMA_CPP_BASE_URL"), "http://127.0.0.1:8080/v1", None),
    Vendor("vllm", "vLLM", ("VLLM_API_KEY",), ("VLLM_BASE_URL",), "http://127.0.0.1:8000/v1", None),
    Vendor("ollama", "Ollama", (), ("OLLAMA_BASE_URL", "OLLAMA_HOST"), "http://127.0.0.1:11434/v1", None),
)


def vendor_named(name: str) -> Vendor | None:
    """The row called `name`."""
    return next((vendor for vendor in VENDORS if vendor.name == name), None)


def vendor_at(base_url: str) -> Vendor | None:
    """The row whose own endpoint `base_url` is: same scheme, host and port. A key's variable goes to no other place (case H-08)."""
    return next((vendor for vendor in VENDORS if vendor.key_variables and origin_of(vendor.base_url) == origin_of(base_url)), None)


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL, in comparable form."""
    parts = urlsplit(url)
    default = {"https": 443, "http": 80}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


def ollama_url(host: str) -> str:
    """The base URL behind `OLLAMA_HOST`, which may lack scheme or port and may be the address a server binds to."""
    text = host.strip().rstrip("/")
    parts = urlsplit(text if "://" in text else f"http://{text}")
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name in ("0.0.0.0", "::") else f"[{name}]" if ":" in name else name
    port = parts.port or (443 if parts.scheme == "https" else 11434)
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{name}:{port}{path if path.endswith('/v1') else f'{path}/v1'}"
