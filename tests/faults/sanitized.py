"""Run tests with all compiled libraries under the sanitizers of memory and undefined behaviour.

    python tests/faults/sanitized.py FOLDER NAMES [ARGUMENTS OF PYTEST]

Builds the libraries of these NAMES, as ``facts,tokens``, or ``all``, into FOLDER. The address
sanitizer is loaded before Python, whose own memory comes from it, too: arrays have guarded bounds.
Needs GCC or Clang, and Linux.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "bitextfilter").glob("*/*.c"))
CHECKED = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SLOW = {"word_network": "-O0"}
"""It has many kernels: with optimisation the compiler takes half a minute."""


def sources(names: str) -> list[Path]:
    """Return the sources of these libraries."""
    return [each for each in SOURCES if names == "all" or each.stem in names.split(",")]


def build(folder: Path, names: str) -> None:
    """Build each library as ``FOLDER/_NAME.so``."""
    builds = []
    for source in sources(names):
        out = folder / f"_{source.stem}.so"
        if out.exists() and out.stat().st_mtime > source.stat().st_mtime:
            continue
        line = ["cc", "-std=gnu11", *CHECKED, SLOW.get(source.stem, "-O1"), "-shared", "-fPIC"]
        builds.append(subprocess.Popen([*line, str(source), "-o", str(out), "-lm"]))
    for built in builds:
        if built.wait() != 0:
            raise SystemExit(f"{built.args!r} failed")


def runtime(name: str) -> str:
    """Return the path of a library of the compiler."""
    line = ["cc", f"-print-file-name={name}"]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()


def run_tests(folder: Path, names: str, arguments: list[str]) -> int:
    """Run tests in this process, with the libraries of *folder*."""
    import pytest

    from bitextfilter.io import compiled

    own = compiled.CompiledLibrary.__init__

    def checked(library: compiled.CompiledLibrary, *given: object, **functions: object) -> None:
        own(library, *given, **functions)  # type: ignore[arg-type]
        if (folder / library.path.name).exists():
            library.path = folder / library.path.name

    compiled.CompiledLibrary.__init__ = checked  # type: ignore[method-assign, assignment]
    failed = pytest.main(["-q", "-p", "no:cacheprovider", "--capture=sys", *arguments])
    if missing := sorted({source.stem for source in sources(names)} - compiled.opened):
        sys.stderr.write(f"not called: {', '.join(missing)}\n")
        return 1
    return int(failed)


def main() -> None:
    """Build the libraries, and run tests in a process that has the sanitizers."""
    folder, names, arguments = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    if os.environ.get("SANITIZED") == "1":
        sys.exit(run_tests(folder, names, arguments))
    build(folder, names)
    there = {
        "LD_PRELOAD": f"{runtime('libasan.so')}:{runtime('libubsan.so')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # those of Python itself, at its end
        "PYTHONMALLOC": "malloc",
        "SANITIZED": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **there})


if __name__ == "__main__":
    main()
