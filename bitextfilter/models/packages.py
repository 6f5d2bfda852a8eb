"""Encoders that come whole with a package of another maker: the names of their weights, verified.

Folders in ``pretrained/packages/`` stand for them: their ``config.json`` names the package, its
version and the digests of its weights. Nothing is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from bitextfilter.errors import DeviceError, ModelError
from bitextfilter.io.records import file_digest

PACKAGED = ("use", "e5")
"""The architectures of such encoders, which are their names and the extras that install them."""


@dataclass(frozen=True)
class Package:
    """A package with an encoder."""

    extra: str
    """One of ``PACKAGED``."""
    name: str
    version: str
    dim: int
    """The width of a vector."""
    files: Mapping[str, str]
    """The files of its weights, with their SHA-256."""

    @classmethod
    def of(cls, folder: Path, config: Mapping[str, Any]) -> Package:
        """Read the configuration of a model folder. Raises ModelError for a damaged one."""
        try:
            own = config["encoder"]
            extra, name, version = own["architecture"], own["package"], own["version"]
            return cls(str(extra), str(name), str(version), int(own["dim"]), dict(own["files"]))
        except (KeyError, TypeError, ValueError) as error:
            message = f"{folder}: the configuration's encoder is unusable: {error}"
            raise ModelError(message) from error

    def fault(self) -> str | None:
        """Return why the package is of no use, with the remedy; None if it is there."""
        try:
            found = distribution(self.name).version
        except PackageNotFoundError:
            return self.remedy("not installed")
        if found != self.version:
            return self.remedy(f"version {found} is installed, not {self.version}")
        return None

    def remedy(self, fault: str) -> str:
        """Return a message of a fault, with the remedy."""
        return f"{self.name}: {fault}; pip install 'bitextfilter[{self.extra}]'"

    def check(self) -> None:
        """Raise DeviceError for :meth:`fault`, and ModelError for other weights than the known."""
        if (fault := self.fault()) is not None:
            raise DeviceError(fault)
        found: Distribution = distribution(self.name)
        for name, known in self.files.items():
            path = Path(str(found.locate_file(name)))
            if file_digest(path) != known:
                raise ModelError(f"{path}: not the weights of {self.name} {self.version}")
