"""Real source archives from the package index, by pinned version and hash, without building anything.

pip is the client, so that its own configuration (index, certificates, proxies) holds. It wants to know an archive's metadata; an archive
carries them in its `PKG-INFO`, and a stand-in for the build backends hands out just that.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

BACKEND = """
import email, os, pathlib, shutil, sys

def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    said = email.message_from_string(pathlib.Path("PKG-INFO").read_text("utf-8"))
    name = "{}-{}.dist-info".format(said["Name"].replace("-", "_"), said["Version"])
    os.makedirs(os.path.join(metadata_directory, name))
    shutil.copy("PKG-INFO", os.path.join(metadata_directory, name, "METADATA"))
    return name

__legacy__ = sys.modules[__name__]
"""
MODULES = ("setuptools/build_meta.py", "flit_core/buildapi.py")
UNREACHABLE = re.compile(r"NewConnectionError|Could not find a version|No matching distribution|ConnectTimeout|ReadTimeout|ProxyError")
LIMIT = 120.0


class Offline(Exception):
    """The index cannot be reached."""


@dataclass(frozen=True, slots=True)
class Archive:
    """A source archive as the index names it."""

    name: str
    version: str
    sha256: str

    def unpack(self, download: Path, target: Path) -> None:
        """Fetch it and put its content into `target`. Blocks. Raises `Offline`."""
        backends = download / "backends"
        for module in MODULES:
            place = backends / module
            place.parent.mkdir(parents=True, exist_ok=True)
            (place.parent / "__init__.py").touch()
            place.write_text(BACKEND)
        wanted = download / "wanted.txt"
        wanted.write_text(f"{self.name}=={self.version} --hash=sha256:{self.sha256}\n")
        options = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--use-pep517", "--require-hashes", "--retries", "1"]
        command = [sys.executable, "-m", "pip", "download", "-q", *options, "-r", str(wanted), "-d", str(download)]
        environment = {**os.environ, "PYTHONPATH": str(backends)}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        if ended.returncode and UNREACHABLE.search(ended.stderr):
            raise Offline(f"the package index cannot be reached: {ended.stderr.strip().splitlines()[-1]}")
        assert ended.returncode == 0, ended.stderr
        (archive,) = download.glob("*.tar.gz")
        with tarfile.open(archive) as whole:
            members = [member for member in whole.getmembers() if member.isfile()]
            for member in members:
                member.name = member.name.partition("/")[2]
            whole.extractall(target, members, filter="data")
