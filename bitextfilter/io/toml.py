"""Read settings in TOML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bitextfilter.errors import NotFoundError, SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read_toml"]


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises NotFoundError, and SettingsError naming the file where it is not TOML.
    """
    try:
        tables: dict[str, Any] = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise NotFoundError(f"{path}: cannot be opened: {error.strerror or error}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: not TOML: {error}") from error
    return tables
