"""Right text through ``bitext-fix``: characters, changes by the repair of mojibake, per language.

    python benchmarks/right_text.py FOLDER_OR_FILE... [--rows N] [--show N]

Every cell of a TSV is a text. Files named NAME.XX-YY.tsv or XX-YY.tsv (.gz, .xz) say the languages
of two columns, a header of codes those of more; the language of other cells is ``?``. A text first
goes through the other default repairs, which may well change raw data. Then it is tried as it is,
decomposed, in capitals, as a title, in each kind of quotation marks, and before an ellipsis, a dash
and an apostrophe. A change of any of them is shown, for a look: some data are damaged.
``unstable``: texts that a second run changes.
"""

from __future__ import annotations

import argparse
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bitextfilter.corpus.repair import DEFAULTS, Repairer
from bitextfilter.filters.web import BadEncoding
from bitextfilter.io.files import read_lines

_CODE = re.compile("[a-z]{2,3}")
_PAIR = re.compile(r"(?:^|[./])([a-z]{2,3})-([a-z]{2,3})\.")
_QUOTES = ("«%s»", "« %s »", "“%s”", "‘%s’", "„%s“", "»%s«", "”%s”", "‹%s›", "‚%s‘")
_ENDS = ("%s…", "%s’", "%s–", "%s—", "%s”", "%s»", "%s“", "%s\u00a0!")


def texts(path: Path, rows: int) -> Iterator[tuple[str, str]]:
    """Yield language and text of the cells of a file's first rows."""
    lines = iter(read_lines(str(path)))
    first = next(lines, "").split("\t")
    if len(first) > 2 and all(map(_CODE.fullmatch, first)):
        names = first
    else:
        named = _PAIR.search(f"/{path.parent.name}/{path.name}") or _PAIR.search(
            f"/{path.parent.name}."
        )
        names = list(named.groups()) if named else []
        lines = iter(["\t".join(first), *lines])
    for _, line in zip(range(rows), lines, strict=False):
        cells = line.split("\t")
        known = names if len(names) == len(cells) else ["?"] * len(cells)
        yield from ((name, cell) for name, cell in zip(known, cells, strict=True) if cell)


def forms(text: str) -> list[str]:
    """Return a text as it is, and with other case, quotation marks and ends."""
    cased = [text, text.upper(), text.title(), unicodedata.normalize("NFD", text)]
    bare = [form.rstrip(".!?…") for form in cased[:2]]
    return [*cased, *(shape % one for one in bare for shape in (*_QUOTES, *_ENDS))]


def files(paths: list[Path]) -> Iterator[Path]:
    """Yield the files, and all TSVs in the folders."""
    for path in paths:
        inside = sorted(path.rglob("*.tsv*")) if path.is_dir() else [path]
        yield from (one for one in inside if not one.name.endswith(".md"))


def main() -> None:
    """Try and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--rows", type=int, default=1000, help="rows of a file at most")
    parser.add_argument("--show", type=int, default=20, help="changes shown of a language")
    options = parser.parse_args()
    others = Repairer(set(DEFAULTS) - {"mojibake"})
    every = Repairer()
    counts: dict[str, Counter[str]] = {}
    seen: set[tuple[str, str]] = set()
    for path in files(options.paths):
        for language, raw in texts(path, options.rows):
            text = others(raw)[0]
            if (language, text) in seen:
                continue
            seen.add((language, text))
            count = counts.setdefault(language, Counter())
            count["texts"] += 1
            for number, form in enumerate(forms(text)):
                fixed, names = every(form)
                count["characters"] += len(form)
                count["changed as is" if number == 0 else "changed in other forms"] += (
                    "mojibake" in names
                )
                count["taken for damage"] += BadEncoding().fault(form) is not None
                count["unstable"] += every(fixed) != (fixed, ())
                if "mojibake" in names and count["shown"] < options.show:
                    count["shown"] += 1
                    print(f"{path.name}\t{language}\t{form!r}\t{fixed!r}")
    total = sum(counts.values(), Counter())
    columns = (
        "texts",
        "characters",
        "changed as is",
        "changed in other forms",
        "unstable",
        "taken for damage",
    )
    print("language", *columns, sep="\t")
    for language, count in [*sorted(counts.items()), ("all", total)]:
        print(language, *(count[column] for column in columns), sep="\t")


if __name__ == "__main__":
    main()
