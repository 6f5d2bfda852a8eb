"""The filters for OpusCleaner, run as it runs them: a line of sh in the folder of the JSON file."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from console import ROOT

FOLDER = ROOT / "examples/opuscleaner"
NAMES = ("bitext_fix", "bitext_filter", "bitext_score")
ROWS = "\n".join((ROOT / "examples/pairs.en-de.tsv").read_text("utf-8").splitlines()[::4]) + "\n"
ROWS += "M&uuml;ller\tMÃ¼ller “x”\tx\n"


def clean(name: str, commands: Path, rows: str = ROWS, **values: str) -> str:
    """What a filter makes of rows; parameters without a value have their defaults."""
    found = json.loads((FOLDER / f"{name}.json").read_text())
    defaults = {key: one["default"] for key, one in found["parameters"].items()}
    texts = {
        key: ("1" if value else "") if isinstance(value, bool) else str(value)
        for key, value in {**defaults, **values}.items()
    }
    setting = "".join(f"{key}={shlex.quote(value)}; " for key, value in texts.items())
    return piped(setting + found["command"], commands, rows)


def piped(line: str, commands: Path, rows: str = ROWS) -> str:
    search = os.pathsep.join([str(commands), os.environ["PATH"]])
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=FOLDER, input=rows.encode(), capture_output=True,
        env={**os.environ, "PATH": search}, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return done.stdout.decode()


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_as_opuscleaner_reads_them(name: str) -> None:
    found = json.loads((FOLDER / f"{name}.json").read_text())
    assert set(found) == {"type", "description", "command", "parameters"}
    assert found["type"] == "bilingual"
    used = set(re.findall(r"\$\{?([A-Z]+)", found["command"]))
    assert used == set(found["parameters"])
    for one in found["parameters"].values():
        assert set(one) == {"type", "default", "help"}
        assert isinstance(one["default"], {"str": str, "bool": bool}[one["type"]])


def test_repairs(commands: Path) -> None:
    assert clean("bitext_fix", commands) == piped("bitext-fix -q", commands)
    assert clean("bitext_fix", commands).endswith("Müller\tMüller “x”\tx\n")
    last = clean("bitext_fix", commands, MORE="quotes width", LESS="entities nfc").splitlines()[-1]
    assert last == 'M&uuml;ller\tMüller "x"\tx'


def test_rules(commands: Path) -> None:
    by_default = clean("bitext_filter", commands)
    assert by_default == piped("bitext-filter -q", commands) != ROWS
    strict = {"RULES": "default numbers length:minimum=5", "WITHOUT": "identical"}
    line = "bitext-filter -q --rule default --rule numbers --rule length:minimum=5"
    found = clean("bitext_filter", commands, LANGUAGES="en,de", **strict)
    assert found == piped(f"{line} --without identical --languages en,de", commands)
    assert len(found) < len(by_default)


@pytest.mark.gate(0)
def test_scores(commands: Path) -> None:
    line = "bitext-score -q | bitext-rank -q --order input --min-score {} | cut -f 1-3"
    for cut in ("balanced", "strict", "0.9"):
        found = clean("bitext_score", commands, THRESHOLD=cut)
        assert found == piped(line.format(cut), commands)
        assert 0 < found.count("\n") < ROWS.count("\n")


def test_what_cannot_be_read_ends_the_pipeline(commands: Path) -> None:
    for name in NAMES:
        with pytest.raises(RuntimeError, match="stdin:2: 1 column, expected at least 2"):
            clean(name, commands, "a\tb\nalone\n")
