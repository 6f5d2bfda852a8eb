"""bitext-judge command: labels by programs that work, stop, and go wrong."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from console import heeding

from bitextfilter.commands.judge import main
from bitextfilter.io.programs import question_line
from bitextfilter.judge.judgements import pair_digest, sample_header

PAIRS = [("one", "eins"), ("two\rlines", "zwei\u2028x"), ("three", "drei"), ("four", "vier")]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    rows = [f"{a}\t{b}\t0.5\t{n}\tnear-cut\t2\n" for n, (a, b) in enumerate(PAIRS, 7)]
    path = tmp_path / "sample.tsv"
    path.write_bytes(sample_header(["mlp"]) + "".join(rows).encode())
    return path


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(main, ["command", *map(str, words)])


def labels(path: Path) -> list[str]:
    return [line.split("\t")[2] for line in path.read_text().splitlines()[1:]]


def failed(done: Result, code: int, *messages: str) -> None:
    assert (done.exit_code, done.stdout_bytes) == (code, b""), done.stderr
    (line,) = done.stderr.splitlines()
    assert all(message in line for message in messages), line


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if re.search(r"^\.|answers", path.name))


def test_labels_of_a_program(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.tsv"
    done = call("awk '{print NR / 10}'", sample, "-o", out, "--annotator", "a  model")
    assert done.exit_code == 0, done.stderr
    first = out.read_text().splitlines()[1]
    assert first == f"7\t{pair_digest(*PAIRS[0])}\t0.1\t0-1\ta model\t"
    assert labels(out) == ["0.1", "0.2", "0.3", "0.4"]
    assert leftovers(tmp_path) == []
    assert call("awk '{print NR / 10}'", sample, "--annotator", "a model").stdout == out.read_text()


def test_a_line_a_row() -> None:
    assert question_line(*PAIRS[1]) == b"two lines\tzwei x\n"


def test_words(sample: Path) -> None:
    done = call("sed 's/.*/ good\\r/'", sample, "--scale", "good-bad", "-q")
    assert done.stdout.count("\tgood\tgood-bad\tprogram\t") == 4


def test_batches(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.tsv"
    call("awk '{print NR / 10}'", sample, "-o", out, "--batch", "3")
    assert labels(out) == ["0.1", "0.2", "0.3", "0.1"]


def test_a_run_goes_on(sample: Path, tmp_path: Path) -> None:
    """The program leaves what it is asked, and fails at its third line once."""
    asked, out = tmp_path / "asked", tmp_path / "labels.tsv"
    program = tmp_path / "judge"
    program.write_text(
        f'#!/bin/sh\nwhile read -r line; do echo "$line" >> {asked}\n'
        f"[ $(wc -l < {asked}) = 3 ] && echo broken >&2 && exit 4\necho 0.5; done\n"
    )
    program.chmod(0o755)
    done = call(program, sample, "-o", out)
    failed(
        done, 69, "exit code 4 after 2 of 4 rows", "its stderr ends: broken", "2 answers are kept"
    )
    assert not out.exists() and leftovers(tmp_path) == ["labels.tsv.answers"]
    with open(tmp_path / "labels.tsv.answers", "ab") as stream:
        stream.write(b"0123\t0.")  # a line that was cut short
    done = call(program, sample, "-o", out)
    assert done.exit_code == 0 and "2 answers are kept from before" in done.stderr
    assert labels(out) == ["0.5"] * 4 and leftovers(tmp_path) == []
    assert [line.split("\t")[0] for line in asked.read_text().splitlines()] == [
        "one", "two lines", "three", "three", "four",
    ]  # fmt: skip


def test_answers_of_another_command_are_not_taken(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "labels.tsv"
    call("head -n 2 | sed 's/.*/1/'", sample, "-o", out)
    done = call("sed 's/.*/0/'", sample, "-o", out)
    failed(done, 78, "labels.tsv.answers has answers on 0-1 of head -n 2", "delete it")


@pytest.mark.parametrize(
    ("program", "code", "message"),
    [
        ("sed 's/.*/2/'", 65, "the answer '2' for row 7 is not a number from 0 to 1; print one"),
        ("sed 's/.*/nan/'", 65, "the answer 'nan' for row 7"),
        ("cat", 65, "the answer 'one\\teins' for row 7"),
        ("head -n 3 | sed 's/.*/1/'", 69, "answered 3 of 4 rows; 3 answers are kept"),
        ("sed 's/.*/1/'; echo 1", 69, "more than 4 lines for 4 rows"),
        ("no-such-program", 69, "exit code 127 after 0 of 4 rows; its stderr ends: "),
    ],
)
def test_programs_that_go_wrong(
    sample: Path, tmp_path: Path, program: str, code: int, message: str
) -> None:
    failed(call(program, sample, "-o", tmp_path / "labels.tsv"), code, message)


def test_a_program_that_hangs(sample: Path) -> None:
    failed(call("sleep 100", sample, "--timeout", "0.2"), 69, "sleep 100: no answer for 0.2 s")


@pytest.mark.parametrize("words", [["--scale", "good"], ["--timeout", "0"], ["--batch", "0"]])
def test_usage(sample: Path, words: list[str]) -> None:
    assert call("cat", sample, *words).exit_code == 2


def test_an_output_that_cannot_be_written_stops_at_once(sample: Path, tmp_path: Path) -> None:
    marker = tmp_path / "asked"
    done = call(f"touch {marker}; cat", sample, "-o", tmp_path / "nowhere" / "labels.tsv")
    assert done.exit_code == 74 and not marker.exists()
    assert call("cat", sample, "-o", sample).exit_code == 2


def test_an_interrupt_keeps_the_answers(sample: Path, tmp_path: Path) -> None:
    out, pid = tmp_path / "labels.tsv", tmp_path / "pid"
    program = f"echo $$ > {pid}; echo 0.5; sleep 100"
    words = [*heeding("bitext-judge"), "command", program, str(sample), "-o", str(out)]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as run:
        kept = tmp_path / "labels.tsv.answers"
        while not (kept.exists() and b"0.5" in kept.read_bytes()):
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130
        assert run.stderr is not None
        assert run.stderr.read().endswith(b"bitext-judge command: interrupted\n")
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
    assert leftovers(tmp_path) == ["labels.tsv.answers"] and not out.exists()
