"""The pipelines of the pages, as they stand there, over a crawl with damaged rows."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from console import ROOT

DAMAGE = [
    "Latin-1 für alle\tschön".encode("latin-1"), b"a\0b\tNUL", b"one column", b"",
    b"no target here\t", b"half a character\t\xe2\x82", "UTF-16\tx".encode("utf-16-le"),
]  # fmt: skip


def crawl() -> bytes:
    """The example pairs of the repository with damaged rows among them."""
    rows = (ROOT / "examples" / "pairs.en-de.tsv").read_bytes().splitlines()
    return b"".join(
        b"\n".join([*rows[number::7], DAMAGE[number % len(DAMAGE)]]) + b"\n" for number in range(7)
    )


def pipeline(page: str) -> str:
    """The block of a page that makes a whole pipe go on after bad rows."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (block,) = (block for block in blocks if "BITEXTFILTER_ON_ERROR=reject" in block)
    return re.sub(r"^[$>] ", "", block, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "source", "result"),
    [
        ("README.md", "crawl.en-de.tsv.gz", "best.en-de.tsv.gz"),
        ("docs/filter.md", "crawl.tsv", "best.tsv"),
        ("examples/clean-a-crawl/README.md", "crawl.tsv.gz", "cleaned.tsv"),
    ],
)
def test_the_pipeline_of_a_page_runs_over_damaged_rows(
    page: str, source: str, result: str, tmp_path: Path, commands: Path
) -> None:
    data = crawl()
    (tmp_path / source).write_bytes(gzip.compress(data) if source.endswith(".gz") else data)
    search = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", pipeline(page)], cwd=tmp_path, env={**os.environ, "PATH": search},
        capture_output=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    best = (tmp_path / result).read_bytes()
    lines = (gzip.decompress(best) if result.endswith(".gz") else best).splitlines()
    assert len(lines) > 5
    scores = [float(line.rpartition(b"\t")[2]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    assert {line.rpartition(b"\t")[0] for line in lines} < set(data.splitlines())
    assert not set(DAMAGE) & {line.rpartition(b"\t")[0] for line in lines}
