"""The frame: options, rows, exit codes and messages, on commands made for the test."""

from __future__ import annotations

import json
import os
import re
import signal
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import Result
from console import invoke, says_one_line
from counting import Settings, count

from bitextfilter import __version__
from bitextfilter.commands.frame import command as frame
from bitextfilter.commands.frame import exits, messages
from bitextfilter.commands.frame.command import command, group
from bitextfilter.commands.frame.exits import EXIT_CODES, Guard
from bitextfilter.commands.frame.options import Common, options_of, row_options
from bitextfilter.commands.frame.run import Run

BOM = b"\xef\xbb\xbf"


@command("bitext-count", row_options("pairs files"), batch_size=3)
def several(run: Run) -> None:
    """Read rows of several files."""
    assert sum(map(len, run.windows(run.rows()))) == run.counts["rows"]


main = group("bitext-test", "A group.\n\nExample:\n\n    bitext-test talk\n")


@command("talk", uses="", parent=main)
def talk(run: Run) -> None:
    """Say things."""
    run.note("a note")
    run.warn("a warning")
    run.counts["words"] += 2
    run.facts["seed"] = 7


def call(
    *words: object, data: bytes = b"", program: click.Command = count, code: int = 0
) -> Result:
    return invoke(program, *words, data=data, code=code)


def test_options_are_fields_of_settings_and_can_be_chosen_by_name() -> None:
    both, one = options_of(Settings), options_of(Settings, "slow", {"slow": {"help": "Slowly."}})
    assert [each.name for each in both.parameters] == ["fail", "slow"]
    assert [getattr(each, "help", "") for each in one.parameters] == ["Slowly."]
    assert Settings() == Settings(fail=None, slow=False)
    with pytest.raises(KeyError):
        options_of(Settings, "fast")


def test_blas_computes_on_one_thread_unless_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    call("--version")
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    call("--version")
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def test_rows_pass_through_byte_for_byte() -> None:
    data = BOM + b"a\tb\t\xff\r\nccc\td\tx\ty\nee\tf"
    result = call(data=data)
    assert result.stdout_bytes == BOM + b"a\tb\t\xff\t1\r\nccc\td\tx\ty\t3\nee\tf\t2"
    result = call("--header", "--scol", "en", "--tcol", "-2", data=b"en\tde\tx\r\nabc\td\te\r\n")
    assert result.stdout_bytes == b"en\tde\tx\tcount\r\nabc\td\te\t3\r\n"
    for data in (b"", BOM):
        result = call(data=data)
        assert result.stdout_bytes == data
        assert result.stderr.startswith("bitext-count: 0 rows, 0 rejected, ")


def test_a_header_that_may_be_a_row_is_warned_of_once() -> None:
    warning = "bitext-count: warning: stdin:1: 'Hi', 'Hallo' is taken for the names of columns: "
    told = call("--header", data=b"Hi\tHallo\n" + b"a\tb\n" * 9).stderr
    assert told.count(warning) == 1 and "name one of them (--scol NAME)" in told
    assert "warning" not in call("--header", "--scol", "Hi", data=b"Hi\tHallo\na\tb\n").stderr
    assert "warning" not in call("--header", data=b"en\tde\na\tb\n").stderr


def test_a_bad_row_stops_and_leaves_no_file(tmp_path: Path) -> None:
    result = call("-o", tmp_path / "out.gz", data=b"a\tb\n" * 5 + b"c\n", code=65)
    assert result.stderr == (
        "bitext-count: stdin:6: 1 column, expected at least 2 (--tcol 2); "
        "--on-error reject --rejects FILE keeps going\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_rejected_rows_are_kept_with_number_and_reason(tmp_path: Path) -> None:
    rejects = tmp_path / "rejects.tsv"
    data = b"a\tb\nc\r\nd\t\xff\t\0\n\te\nf\tg"
    result = call("--on-error", "reject", "--rejects", rejects, data=data)
    assert result.stdout_bytes == b"a\tb\t1\nc\t\r\nd\t\xff\t\0\t\n\te\t\nf\tg\t1"
    assert rejects.read_bytes() == (
        b"2\t1 column, expected at least 2 (--tcol 2)\tc\n"
        b"3\tthe target is not UTF-8 at its byte 1\td\t\xff\t\0\n"
        b"4\tthe source is empty\t\te\n"
    )
    assert "5 rows, 3 rejected, " in result.stderr


@pytest.mark.parametrize(
    ("most", "bad", "good", "said"),
    [
        ("2", 2, 0, None),
        ("2", 3, 90, "3 of 3 rows are bad, more than --max-bad 2"),
        ("50%", 1, 1, None),
        ("49.5%", 1, 1, "1 of 2 rows are bad, more than --max-bad 49.5%"),
        ("50%", 500, 600, None),
        ("50%", 1000, 1200, "1000 of 1002 rows are bad, more than --max-bad 50%"),
        ("0", 1, 0, "1 of 1 rows are bad, more than --max-bad 0"),
    ],
)
def test_too_many_bad_rows_end_the_run(
    tmp_path: Path, most: str, bad: int, good: int, said: str | None
) -> None:
    words = ("-q", "--on-error", "reject", "--max-bad", most, "-o", tmp_path / "out")
    data = b"x\n" * bad + b"a\tb\n" * good
    result = call(*words, data=data, code=0 if said is None else 65)
    if said is None:
        assert result.stderr == ""
        return
    assert result.stderr == f"bitext-count: stdin: {said}; --on-error stop shows the first\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"a b.en": "a\n", "a.de": "b\n"}, "--from moses 'a b.en' a.de | bitext-count reads"),
        (
            {"x.jsonl": '{"source": "a", "target": "b"}\n'},
            "--from jsonl x.jsonl | bitext-count reads",
        ),
        (
            {"x": '{"id": 1, "en": "a", "de": "b"}\n'},
            "--from jsonl --fields en,de x | bitext-count",
        ),
        ({"x.srt": "1\n", "y.vtt": "a\n"}, "bitext-convert --from srt x.srt y.vtt | bitext-count"),
        ({"x.tsv": "1\n", "y.tsv": "a\n"}, "; --on-error reject --rejects FILE keeps going"),
        ({"x.tmx": "<?xml version='1.0'?>\n"}, "bitext-convert --from tmx x.tmx |"),
        ({"x.en": "a\n"}, "--on-error reject --rejects FILE keeps going"),
        ({"x.en": "a\n", "y.en": "a\n", "z.en": "a\n"}, "--on-error reject --rejects FILE"),
    ],
)
def test_a_file_of_another_format_is_told_with_the_command_that_converts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    first = next(iter(files))
    result = call(*files, program=several, code=65)
    assert result.stderr.startswith(f"bitext-count: {first}:1: 1 column, expected at least 2")
    assert said in result.stderr
    result = call("--on-error", "reject", *files, program=several)
    assert f"warning: every row is bad: {first}:1: 1 column" in result.stderr
    assert (said in result.stderr) != ("--on-error" in said)
    assert "--on-error" not in result.stderr


def test_the_manifest_says_what_the_run_was(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    call("--manifest", path, "--fail", "InputError", code=65)
    assert not path.exists(), "of a run that failed"
    call("--manifest", path, "-q", data=b"a\tb\n" * 7)
    manifest = json.loads(path.read_bytes())
    assert manifest["command"] == ["bitext-count", "--manifest", str(path), "-q"]
    assert manifest["version"] == __version__
    assert manifest["counts"] == {"rows": 7, "rejected": 0}
    assert manifest["seconds"] >= 0 and manifest["rows_per_second"] > 0


def test_the_command_line_names_files_without_their_folders() -> None:
    words = ["bitext-count", "-i", "/home/me/my pairs.tsv", "--manifest=../run.json", "models/toy/"]
    run = Run(words[0], words, Common())
    assert run.command_line == "bitext-count -i 'my pairs.tsv' --manifest=run.json toy"


def test_a_file_may_be_its_own_output(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(b"a\tb\n" * 4)
    call("-i", path, "-o", path)
    assert path.read_bytes() == b"a\tb\t1\n" * 4


CODES = {"InputError": 65, "ModelError": 65, "NotFoundError": 66, "DeviceError": 69,
         "OutputError": 74, "SettingsError": 78, "UsageError": 2}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_each_error_has_its_code_and_one_line(name: str) -> None:
    code = CODES[name]
    says_one_line(call("--fail", name, code=code), code, "bitext-count: it went wrong")
    if code != 2:
        assert "Traceback" in call("--fail", name, "-v", code=code).stderr


def test_a_package_that_is_not_installed_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    guard = Guard("bitext-count", verbose=False)
    with guard:
        raise ModuleNotFoundError("No module named 'torch'", name="torch.nn")
    assert guard.code == 69
    assert "the package torch.nn is not installed" in capsys.readouterr().err
    with guard:
        raise ModuleNotFoundError("no module", name="bitextfilter.nothing")
    assert guard.code == 70


@pytest.mark.parametrize(
    ("number", "word"),
    [("SIGINT", "interrupted"), ("SIGTERM", "terminated"), ("SIGHUP", "hung up")],
)
def test_a_signal_that_a_library_takes_for_an_error_of_its_own(
    number: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sent, guard = signal.Signals[number], Guard("bitext-count", verbose=False)
    inherited = signal.signal(sent, signal.default_int_handler)  # background jobs ignore Ctrl-C
    before = signal.getsignal(sent)
    with guard:
        try:
            os.kill(os.getpid(), sent)
        except BaseException as error:
            raise SystemError("returned a result with an exception set") from error
    assert guard.code == 128 + sent
    assert capsys.readouterr().err == f"bitext-count: {word}\n"
    assert signal.signal(sent, inherited) == before


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    guard = Guard("bitext-count", verbose=False)
    with guard:
        os.kill(os.getpid(), signal.SIGHUP)
    assert (guard.code, signal.signal(signal.SIGHUP, before)) == (0, signal.SIG_IGN)


def test_a_bug_is_shown_with_its_traceback() -> None:
    result = call("--fail", "bug", "-q", code=70)
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith(
        "ValueError: it went wrong\n"
        "bitext-count: this is a bug: please report it with the lines above\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nothing"], "No such option"),
        (["more"], "Got unexpected extra argument (more)"),
        (["--scol", "0"], "columns are counted from 1, or from the end with -1"),
        (["--scol", "en"], "a column can only be named with --header"),
        (["--rejects", "bad.tsv"], "--rejects FILE needs --on-error reject"),
        (["--max-bad", "3"], "--max-bad needs --on-error reject"),
        (["--max-bad", "0.01"], "'0.01' is not a whole number, such as 500, 500k"),
        (["--max-bad", "101%"], "'101%' is more than all rows"),
        (["--on-error", "reject", "--rejects", "-"], "--rejects needs a file of its own"),
        (["--on-error", "reject", "--rejects", "./x", "-i", "x"], "--rejects needs a file of"),
        (["--on-error", "reject", "--rejects", "x", "-o", "./x"], "--rejects needs a file of"),
        (["--manifest", "-"], "--manifest needs a file of its own"),
        (["--manifest", "./x", "-i", "x"], "--manifest needs a file of its own"),
        (["--manifest", "x", "-o", "./x"], "--manifest needs a file of its own"),
        (["--batch-size", "0"], "0 is not in the range x>=1"),
        (["--device", "tpu"], "'tpu' is not auto, cpu, cuda or cuda:N"),
    ],
)
def test_usage_errors_are_one_line(words: list[str], message: str) -> None:
    says_one_line(call(*words, code=2), 2, message, "(see bitext-count --help)\n")


def test_help_keeps_the_example_and_tells_the_exit_codes() -> None:
    text = call("--help").stdout
    assert "More text that may be wrapped." in text
    assert "      bitext-count   <   pairs.tsv\n" in text
    codes = {"0", "2", "70", "129", "143", *map(str, EXIT_CODES.values())}
    assert set(re.findall(r"[0-9]+", text.partition("Exit codes:")[2])) == codes
    listed = re.findall(r"^ +([0-9]+)  ", exits.EXIT_HELP, re.MULTILINE)
    assert set(listed) == codes
    assert call("--version").stdout == f"bitext-count {__version__}\n"


def test_a_group_has_subcommands() -> None:
    result = call("talk", program=main)
    note, warning, summary = result.stderr.splitlines()
    assert note == "bitext-test talk: a note"
    assert warning == "bitext-test talk: warning: a warning"
    assert summary.startswith("bitext-test talk: 2 words, ")
    assert call("talk", "-q", program=main).stderr == ""
    for words in ([], ["shout"]):
        says_one_line(call(*words, program=main, code=2), 2, "ommand", "(see bitext-test --help)")


def test_a_device_may_take_everything() -> None:
    words = ["--on-error", "reject", "--rejects", "/dev/null", "--manifest", "/dev/null"]
    call(*words, "-o", "/dev/null", data=b"a\tb\nc\n")


def test_elsewhere_there_is_a_line_after_a_minute_without_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = [0.0]
    monkeypatch.setattr(messages, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr("tqdm.std.time", lambda: clock[0])
    told = messages.Messages("bitext-count", quiet=False)

    def after(seconds: float) -> list[str]:
        clock[0] += seconds
        told.tell()
        return capsys.readouterr().err.splitlines()

    assert (after(59), after(1)) == ([], ["bitext-count: at work for 1 min"])
    told.progress().update(90)
    assert (after(59), after(1)) == ([], ["bitext-count: 90 rows, 1.5 rows/s"])
    bar = told.progress(100, "updates")
    assert after(60) == ["bitext-count: 0 of 100 updates, after 3 min"]
    bar.set_postfix_str("ranking 0.25", refresh=False)
    bar.update(20)
    assert after(30) == []
    told.note("a word")
    assert after(59) == ["bitext-count: a word"]
    assert after(1) == ["bitext-count: 20 of 100 updates, ranking 0.25, 0.2 updates/s, 6 min left"]
    assert (told.progress().n, told.notes[-2]) == (20, "a word")


def test_lines_come_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LINE_SECONDS", 0.01)

    @command("bitext-wait", batch_size=None)
    def wait(run: Run) -> None:
        """Wait for a line."""
        while not run.messages.notes:
            time.sleep(0.01)

    assert "bitext-wait: at work for 0 min\n" in invoke(wait).stderr


def test_the_example_of_the_frame_is_a_command() -> None:
    text = str(frame.__doc__)
    example = text[text.index("::\n") + 3 : text.index("\n``command`` adds")]
    names: dict[str, Any] = {}
    exec(textwrap.dedent(example), names)
    done = call("--digits", "2", data=b"ab\tabc\n", program=names["main"])
    assert (done.exit_code, done.stdout_bytes) == (0, b"ab\tabc\t0.67\n")
