"""The way of a pair: the files of bitextfilter whose functions run when a command gets one row.

    python benchmarks/walk.py score
    python benchmarks/walk.py filter --functions

Prints each file at its first function, in order, with the number of its functions that ran; after
``--all`` also files of which the module's body alone ran; with ``--rows`` those alone that later
rows pass, without the start, the end and the checks of first rows.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import io
import sys
import threading
from pathlib import Path
from types import FrameType

HOUSE = Path(__file__).resolve().parent.parent / "bitextfilter"
OTHERS = ("Another garden.\tEin anderer Garten.", "My dog is fast.\tMein Hund ist schnell.")


class Rows(io.BytesIO):
    """Lines of a stream: ``later`` is True from the second one read to the end of the input."""

    later = False

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line."""
        start, line = self.tell(), super().readline(size)
        self.later = start > 0 and line != b""
        return line


def main() -> None:
    """Run a command on one row, and print the files that it passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", nargs="?", default="score")
    parser.add_argument("--row", default="A house.\tEin Haus.", help="tab-separated")
    parser.add_argument("--functions", action="store_true", help="print their names")
    parser.add_argument("--all", action="store_true", help="count bodies of modules, too")
    parser.add_argument("--rows", action="store_true", help="count what later rows pass")
    asked, options = parser.parse_known_args()
    sys.path.insert(0, str(HOUSE.parent))
    ran: dict[str, dict[str, None]] = {}
    texts = [asked.row, *OTHERS[: 2 * asked.rows]]
    rows = Rows("".join(f"{text}\n" for text in texts).encode())
    options += ["--batch-size", "1"] * asked.rows

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if asked.rows and not rows.later:
            return
        if event == "call" and code.co_filename.startswith(f"{HOUSE}/"):
            functions = ran.setdefault(code.co_filename, {})
            if code.co_flags & inspect.CO_OPTIMIZED:  # no body of a module or class
                functions[getattr(code, "co_qualname", code.co_name)] = None

    sys.stdin = io.TextIOWrapper(rows)
    sys.setprofile(look)
    threading.setprofile(look)
    try:
        command = importlib.import_module(f"bitextfilter.commands.{asked.command}").main
        command.main(["-q", *options], f"bitext-{asked.command}", standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = [file for file, functions in ran.items() if functions or asked.all]
    for number, file in enumerate(files, 1):
        print(f"{number:3} {Path(file).relative_to(HOUSE)} {len(ran[file])}")
        if asked.functions:
            print(*(f"        {name}" for name in ran[file]), sep="\n")


if __name__ == "__main__":
    main()
