"""bitext-score --scorer-command: any program as a scorer, and all that may go wrong with it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import Result
from console import heeding, invoke, says_one_line
from toys import sentences

from bitextfilter.commands import score
from bitextfilter.scoring import command_scores as waiting_rows

SOURCES, TARGETS = sentences(300, 7)
LINES = [f"{s}\t{t}\n" for s, t in zip(SOURCES, TARGETS, strict=True)]
DATA = "".join(LINES).encode()
LENGTHS = [f"{len(line) / 100:.4f}" for line in LINES]

AWK = "awk '{print (length($0) + 1) / 100}'"
PYTHON = """
import sys
{before}
for number, line in enumerate({source}, 1):
    print((len(line)) / 100{flush})
    {after}
"""


def python(folder: Path, source: str = "sys.stdin", flush: str = "", **more: str) -> str:
    """The command of a scorer in Python: a hundredth of the length of a line."""
    path = folder / "scorer.py"
    path.write_text(PYTHON.format(**{"before": "", "after": ""} | more, source=source, flush=flush))
    return f"{sys.executable} {path}"


def call(*words: object, data: bytes = DATA) -> Result:
    return invoke(score.main, *words, data=data, code=None)


def scores(result: Result) -> list[str]:
    assert result.exit_code == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.gate(5)
@pytest.mark.parametrize("batch", ["1", "7", "10000"])
@pytest.mark.parametrize("processes", ["1", "3"])
@pytest.mark.parametrize("kind", ["at once", "late", "at the end"])
def test_a_number_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, processes: str, batch: str
) -> None:
    monkeypatch.setattr(waiting_rows, "MOST_BYTES", 10_000)
    source = "sys.stdin.readlines()" if kind == "at the end" else "sys.stdin"
    program = python(tmp_path, source, ", flush=True" if kind == "at once" else "")
    words = ("--scorer-command", program, "--scorer-processes", processes, "--batch-size", batch)
    result = call(*words)
    assert scores(result) == [f"{a[:-1]}\t{b}" for a, b in zip(LINES, LENGTHS, strict=True)]
    assert "300 rows, 0 rejected, 300 asked, " in result.stderr and "model" not in result.stderr


def test_the_place_among_measures(folder: Path) -> None:
    words = ("--model", folder, "--header", "--batch-size", "100")
    data = b"x\ty\n" + DATA
    plain = scores(call(*words, "--similarity", "mlp,cosine", "--score-only", data=data))
    own = [*words, "--scorer-command", AWK, "--score-only"]
    found = scores(call(*own, "--scorer-name", "qe", "--similarity", "mlp,qe,cosine", data=data))
    assert found[0] == "mlp\tqe\tcosine"
    assert found[1:] == [
        line.replace("\t", f"\t{length}\t") for line, length in zip(plain[1:], LENGTHS, strict=True)
    ]
    last = scores(call(*own, "--similarity", "mlp,cosine", data=data))
    assert last[0] == "mlp\tcosine\tcommand" and last[5].endswith(LENGTHS[4])
    alone = ("--header", "--scorer-command", AWK, "--score-only")
    assert scores(call(*alone, data=data))[0] == "command"


def test_line_breaks_in_a_text_are_spaces() -> None:
    data = "a\rb\tc\u2028d\x0b\r\n".encode()
    result = call("--scorer-command", "cat >&2; echo 1", "--score-only", "-q", data=data)
    assert result.stdout == "1.0000\n"
    done = call("--scorer-command", "grep -x 'a b.c d ' | wc -l", "--score-only", data=data)
    assert done.stdout == "1.0000\n"


def test_a_cache_knows_the_command(folder: Path, tmp_path: Path) -> None:
    words = ("--cache", tmp_path / "cache", "--scorer-command")
    plain = call("--scorer-command", AWK, data=DATA + b"x\ty\n").stdout
    assert ", 300 asked, " in call(*words, AWK, data=2 * DATA).stderr
    again = call(*words, AWK, "--batch-size", "50", data=DATA + b"x\ty\n")
    assert again.stdout == plain and ", 1 asked, " in again.stderr
    assert ", 300 asked, " in call(*words, AWK + " ").stderr
    beside = ("--model", folder, "--similarity", "command,mlp", "--scorer-command", AWK)
    plain = call(*beside).stdout
    for counts in ("0 asked, 0 cached, 300 scored", "0 asked, 300 cached, 0 scored"):
        result = call(*beside, "--cache", tmp_path / "cache")
        assert result.stdout == plain
        found = re.findall(r"\d+ (?:asked|cached|scored)", result.stderr)
        assert sorted(found) == sorted(counts.split(", "))


def test_answers_are_kept_though_the_run_fails(tmp_path: Path) -> None:
    words = ("--cache", tmp_path / "cache", "--scorer-command")
    asked, fail = tmp_path / "asked", tmp_path / "fail"
    fail.touch()
    body = f"echo x >> {asked}; echo 0.5; test -e {fail} && test $(wc -l < {asked}) = 9 && exit 3"
    program = f"while read -r line; do {body}; done; exit 0"
    says_one_line(call(*words, program), 69, "stdin:10: ", "exit code 3 after 9 of ")
    fail.unlink()
    result = call(*words, program)
    assert ", 291 asked, " in result.stderr and len(result.stdout.splitlines()) == 300


def test_resumed_runs_and_shards(tmp_path: Path) -> None:
    path, parts = tmp_path / "rows.tsv", tmp_path / "parts"
    path.write_bytes(DATA)
    whole = scores(call("--scorer-command", AWK, "-i", path))
    words = ("-i", path, "--resume", parts, "--shard-rows", "90", "--scorer-command")
    program = f"{AWK}; test -e {tmp_path}/go"
    says_one_line(
        call(*words, program, "-o", tmp_path / "out"), 69, "exit code 1 after 90 of 90 rows"
    )
    assert not (tmp_path / "out").exists()
    (tmp_path / "go").touch()
    says_one_line(call(*words, AWK), 78, "--scorer-command was ")
    more = ("--scorer-processes", "2", "--scorer-retries", "1", "--scorer-timeout", "9")
    assert scores(call(*words, program, *more)) == whole
    part = scores(call("--scorer-command", AWK, "-i", path, "--shard", "2/2"))
    assert 0 < len(part) < 300 and part == whole[-len(part) :]


@pytest.mark.parametrize("answer", ["x", "", "nan", "inf", "1e39", "1 2", "1_0", "0x1"])
def test_an_answer_that_is_no_number(tmp_path: Path, answer: str) -> None:
    program = f"awk '{{print NR == 4 ? \"{answer}\" : 0.5}}'"
    data = b"h\tk\n" + b"".join(b"%d\tb\n" % n for n in range(5)) + b"bad\n"
    shown = f"stdin:5: the scorer's answer '{answer}' is not a finite number; print one for each"
    more = ("--header", "--scol", "h")
    output = ("-o", tmp_path / "out")
    says_one_line(call("--scorer-command", program, *more, *output, data=data[:-4]), 65, shown)
    rejects = tmp_path / "bad.tsv"
    words = (*more, "--on-error", "reject", "--rejects", rejects, "--score-only")
    result = call("--scorer-command", program, *words, data=data)
    assert scores(result) == ["command", "0.5000", "0.5000", "0.5000", "", "0.5000", ""]
    assert [line.split("\t")[0] for line in rejects.read_text().splitlines()] == ["5", "7"]
    assert "6 rows, 2 rejected, 5 asked" in result.stderr
    words = (*words, "--cache", tmp_path / "cache")
    for asked in (", 5 asked", ", 1 asked"):  # a bad answer is not kept
        result = call("--scorer-command", program, *words, data=data)
        assert asked in result.stderr
    done = call("--max-bad", "1", *words, "--scorer-command", "sed s/.*/x/", data=data)
    assert done.exit_code == 65 and "more than --max-bad 1" in done.stderr


@pytest.mark.parametrize(
    ("program", "code", "messages"),
    [
        ("cat", 65, ["stdin:1: the scorer's answer 'a"]),
        ("echo x; cat; sleep 9", 65, ["stdin:1: the scorer's answer 'x' is not a finite"]),
        (f"head -n 100 | {AWK}", 69, ["stdin:101: ", "answered 100 of "]),
        (f"{AWK}; echo 1", 69, ["more than 300 lines for 300 rows"]),
        (f"{AWK}; echo why >&2; exit 4", 69, ["exit code 4 after 300 of 300", "stderr ends: why"]),
        ("exec sleep 100", 69, ["stdin:1: exec sleep 100: no answer for 0.3 s"]),
        ("no-such-program", 69, ["exit code 127 after 0 of", "not found"]),
        ("echo 1; echo 2; kill -9 $$", 69, ["stdin:3: ", "signal 9 after 2 of "]),
    ],
)
def test_programs_that_go_wrong(
    tmp_path: Path, program: str, code: int, messages: list[str]
) -> None:
    out = tmp_path / "out.tsv"
    words = ("--scorer-command", program, "--scorer-timeout", "0.3", "-o", out)
    says_one_line(call(*words), code, *messages)
    assert list(tmp_path.iterdir()) == []


def test_a_death_is_mended(tmp_path: Path) -> None:
    after = f"""
    import os
    if number == 70 and not os.path.exists({str(tmp_path / "died")!r}):
        open({str(tmp_path / "died")!r}, "w")
        os._exit(3)"""
    program = python(tmp_path, flush=", flush=True", after=after)
    says_one_line(call("--scorer-command", program), 69, "stdin:71: ", "exit code 3 after 70 of ")
    (tmp_path / "died").unlink()
    manifest = tmp_path / "run.json"
    words = ("--scorer-retries", "1", "--manifest", manifest, "--score-only")
    result = call("--scorer-command", program, *words)
    assert scores(result) == LENGTHS and ", 300 asked, 1 restarts, " in result.stderr
    assert json.loads(manifest.read_bytes())["facts"]["scorer"] == program


def test_a_bad_row_stops_before_anything_is_asked(tmp_path: Path) -> None:
    program = f"touch {tmp_path}/asked; cat"
    says_one_line(call("--scorer-command", program, data=b"alone\n"), 65, "stdin:1: 1 column")
    assert list(tmp_path.iterdir()) == []


def test_rejects_are_in_the_order_of_rows(tmp_path: Path) -> None:
    """Answers of the first rows come after later bad rows are read."""
    data = b"".join(b"%d\tx\n" % n if n % 5 else b"alone\n" for n in range(400))
    program = "awk '{print NR % 3 ? 1 : \"x\"}'"
    words = ("--on-error", "reject", "--batch-size", "10", "--rejects", tmp_path / "bad.tsv")
    result = call("--scorer-command", program, *words, data=data)
    assert len(scores(result)) == 400
    numbers = [int(line.split("\t")[0]) for line in (tmp_path / "bad.tsv").read_text().splitlines()]
    assert numbers == sorted(numbers) and len(numbers) == 80 + 320 // 3


def test_ctrl_c_ends_the_program(tmp_path: Path) -> None:
    rows, pid = tmp_path / "rows.tsv", tmp_path / "pid"
    rows.write_bytes(DATA)
    program = f"echo $$ > {pid}; sleep 100"
    words = [*heeding("bitext-score"), "-i", str(rows), "-o", str(tmp_path / "out")]
    with subprocess.Popen([*words, "--scorer-command", program], stderr=subprocess.PIPE) as run:
        while not (pid.exists() and pid.read_text().strip()):
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == 130
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pid", "rows.tsv"]
