"""examples/cascade: an expensive scorer is asked about the uncertain middle alone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from console import ROOT
from toys import sentences, toy_model

SCRIPT = ROOT / "examples" / "cascade" / "cascade.sh"


@pytest.mark.gate(0)
def test_nothing_in_the_middle_asks_nothing(tmp_path: Path, commands: Path) -> None:
    rows = [f"{source}\t{target}\tclean" for source, target in zip(*sentences(9, 3), strict=True)]
    (tmp_path / "rows.tsv").write_text("".join(f"{row}\n" for row in rows))
    environment = {
        **os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "FIRST": str(toy_model(tmp_path / "model")), "LOW": "0.5", "HIGH": "0.5", "COMPARE": "no",
        "EXPENSIVE": "exit 9",
    }  # fmt: skip
    words = ["sh", str(SCRIPT), str(tmp_path / "rows.tsv"), str(tmp_path / "out")]
    subprocess.run(words, env=environment, capture_output=True, timeout=120, check=True)
    out = tmp_path / "out"
    assert (out / "scored.tsv").read_text() == (out / "first.tsv").read_text() != ""


@pytest.mark.gate(0)
def test_the_middle_alone_is_asked(tmp_path: Path, commands: Path) -> None:
    sources, targets = sentences(60, 3)
    rows = [
        f"{source}\t{targets[n if n % 2 else (n + 7) % 60]}\t{'clean' if n % 2 else 'noise'}"
        for n, source in enumerate(sources)
    ]
    (tmp_path / "rows.tsv").write_text("".join(f"{row}\n" for row in rows))
    low, high = 0.51, 0.53
    environment = {
        **os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "FIRST": str(toy_model(tmp_path / "model")), "LOW": f"{low}", "HIGH": f"{high}",
        "EXPENSIVE": f"tee -a {tmp_path}/asked | awk '{{print length($0) % 10 / 10}}'",
    }  # fmt: skip
    words = ["sh", str(SCRIPT), str(tmp_path / "rows.tsv"), str(tmp_path / "out")]
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    table = [line.split("\t") for line in done.stdout.splitlines()]
    first, scored = (
        [line.split("\t") for line in (tmp_path / "out" / name).read_text().splitlines()]
        for name in ("first.tsv", "scored.tsv")
    )
    middle = [row for row in first if low < float(row[-1]) < high]
    assert 0 < len(middle) < 60 and [row[:3] for row in scored] == [row.split("\t") for row in rows]
    assert table[1] == ["60", str(len(middle)), f"{100 - 100 * len(middle) / 60:.1f} %"]
    for before, after in zip(first, scored, strict=True):
        if before in middle:
            answer = len("\t".join(before[:2])) % 10 / 10
            assert abs(float(after[-1]) - (low + (high - low) * answer)) < 1e-5
        else:
            assert after == before
    assert [row[0] for row in table[2:]] == ["score", "first", "cascade", "expensive"]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == len(set(asked)) == 60 and asked[: len(middle)] == [
        "\t".join(row[:2]) for row in middle
    ]
