"""The pipeline as a Snakefile and for Nextflow: its command lines are ours."""

from __future__ import annotations

import re
from itertools import pairwise

import click
import pytest
from console import ROOT, command

FOLDER = ROOT / "examples/pipelines"


def command_lines(text: str) -> list[list[str]]:
    """The words of each call of a command of ours in the shell lines of a file of rules."""
    text = re.sub(r'"\n\s*"', "", text)  # Python joins them
    text = re.sub(r"\\\n\s*", "", text)
    text = re.sub(r"\$?\{[^{}\n]*\}", "x", text).replace("--threads x", "--threads 1")
    found = re.findall(r"(bitext-[a-z]+ [^|\n\"]*)", text)
    return [line.replace("x.", "x").split() for line in found]


@pytest.mark.parametrize("name", ["Snakefile", "main.nf"])
def test_command_lines_are_ours(name: str) -> None:
    lines = command_lines((FOLDER / name).read_text())
    assert [line[0] for line in lines] == [
        f"bitext-{word}" for word in ("fix", "filter", "dedup", "score", "rank")
    ]
    for words in lines:
        parsed = [
            re.sub("^x$", "en,de", w) if b == "--languages" else w for b, w in pairwise(words)
        ]
        found = command(words[0])
        try:
            found.make_context(words[0], parsed)
        except click.UsageError as error:
            raise AssertionError(f"{' '.join(words)}: {error.message}") from error


def test_braces_and_quotes_are_closed() -> None:
    text = (FOLDER / "main.nf").read_text()
    assert text.count("{") == text.count("}")
    assert text.count('"""') % 2 == 0
    steps = re.findall(r"^process ([A-Z]+) \{", text, re.MULTILINE)
    assert steps == ["CLEAN", "SCORE", "RANK"]
    workflow = text.partition("workflow {")[2]
    assert re.findall(r"([A-Z]+)\(", workflow) == steps


def test_snakemake_files_are_made_before_they_are_read() -> None:
    text = (FOLDER / "Snakefile").read_text()
    rules = re.split(r"(?m)^rule \w+:", text)[1:]
    made = re.findall(
        r'"(cleaned/[^"]+)"',
        "".join(r.partition("output:")[2].partition("shell:")[0] for r in rules),
    )
    read = re.findall(
        r'"(cleaned/[^"]+)"',
        "".join(r.partition("input:")[2].partition("output:")[0] for r in rules),
    )
    assert set(read) <= {*made, "cleaned/{name}.best.tsv"}
    assert "cleaned/{name}.best.tsv" in made
