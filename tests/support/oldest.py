"""Print the oldest versions that setup.cfg allows, as constraints for pip.

torch keeps the version of constraints.txt.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def oldest() -> Iterator[str]:
    """A constraint for each requirement, of the package and of its extras."""
    settings = configparser.ConfigParser(comment_prefixes="#")
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    extras = settings["options.extras_require"]
    texts = [settings["options"]["install_requires"], *(extras[name] for name in extras)]
    for line in "\n".join(texts).split("\n"):
        found = re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line)
        if found and found[1] != "torch":
            yield f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    print(*oldest(), (ROOT / "constraints.txt").read_text().strip(), sep="\n")  # noqa: T201
