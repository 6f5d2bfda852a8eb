"""Make each mistake of ``support/mutations.py`` in a copy of the package; name a test that fails.

    python tests/mutate.py [WORD]

With a WORD, only those of formulas that have it in their name. The exit code is 1 if all tests pass
with one of the mistakes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from click import echo

HERE = Path(__file__).parent
sys.path.append(str(HERE / "support"))

from mutations import MUTATIONS, Mutation  # noqa: E402


def killer(mutation: Mutation, work: Path) -> str | None:
    """Return the first test that fails with a mistake, or None if all pass."""
    package = work / "bitextfilter"
    if not package.exists():
        shutil.copytree(HERE.parent / "bitextfilter", package)
    file = package / mutation.file
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(mutation.right, mutation.wrong), encoding="utf-8")
    root = HERE.parent
    line = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    line += ["-c", str(root / "setup.cfg"), "--rootdir", str(root), str(root / mutation.tests)]
    # Python looks for the package in the working folder first.
    done = subprocess.run(line, cwd=work, capture_output=True, text=True, check=False)
    file.write_text(text, encoding="utf-8")
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stdout + done.stderr)
    failed = re.search(r"^FAILED \S+::([^\s\[]+)", done.stdout, re.MULTILINE)
    return failed and failed[1]


def main() -> int:
    """Print a table; the exit code."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutation for mutation in MUTATIONS if word in mutation.formula]
    alive = 0
    echo("| formula | mistake | test that fails |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for mutation in chosen:
            test = killer(mutation, Path(folder))
            alive += test is None
            name = "**none**" if test is None else f"`{test}`"
            echo(f"| {mutation.formula} | {mutation.mistake} | {name} |")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
