"""Input as bad as it comes, through bitext-score and bitext-embed as they are run at a shell.

Always: one clear line, the documented exit code, no half-written file, nothing lost.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from console import BIN, heeding
from toys import as_older, toy_model

from bitextfilter.commands import embed, score
from bitextfilter.encoders.combination import AveragingNetwork
from bitextfilter.encoders.expressions import AveragingSettings
from bitextfilter.encoders.registry import ENCODERS
from bitextfilter.errors import NotFoundError
from bitextfilter.models.checkpoint import load_tensors, save_tensors
from bitextfilter.models.folders import writing_folder
from bitextfilter.settings import read_settings
from bitextfilter.text.normalise import Normalisation
from bitextfilter.text.processor import TextProcessor
from bitextfilter.text.segment import SegmenterSettings

GOOD = b"a1 a2\tb1 b2\n"
SCORE = r"\t[01]\.[0-9]{4}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toy_model(tmp_path_factory.mktemp("models") / "toy")


def call(folder: Path, *words: str | Path, data: bytes = GOOD) -> Result:
    arguments = [*(str(word) for word in words), "--model", str(folder)]
    return CliRunner().invoke(score.main, arguments, input=data)


def says_one_line(result: Result, code: int, message: str) -> None:
    assert (result.exit_code, result.stdout_bytes) == (code, b"")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


LONG = "a1 " * 350_000

FINE = {
    "empty": "",
    "no newline at the end": "a1\tb1",
    "CRLF": "a1\tb1\r\na2\tb2\r\n",
    "CRLF, the last without": "a1\tb1\r\na2\tb2",
    "BOM": "\ufeffa1\tb1\n",
    "only a BOM": "\ufeff",
    "lone carriage return": "a1\ra2\tb1\rb2\n",
    "U+2028": "a1\u2028a2\tb1\u2028b2\n",
    "U+0085": "a1\x85a2\tb1\x85b2\n",
    "form feed": "a1\fa2\tb1\fb2\n",
    "vertical tab and separators": "a1\v\x1c\x1d\x1e\tb1\n",
    "50 columns": "\t".join(["a1", "b1", *["x"] * 48]) + "\n",
    "rows of different length": "a1\tb1\na1\tb1\tx\ty\na1\tb1\tx\n",
    "a megabyte in a line": f"{LONG}\tb1\n",
    "unknown words": "\U0001f600 ??\t漢字\n",
    "zero-width text beside text": "a1\u200b\tb1\ufeff\n",
}


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_odd_rows_are_scored_and_come_back_byte_for_byte(folder: Path, text: str) -> None:
    result = call(folder, "-q", data=text.encode())
    assert (result.exit_code, result.stderr) == (0, "")
    rows, lines = text.split("\n"), result.stdout_bytes.decode().split("\n")
    for row, line in zip(rows, lines, strict=True):
        ending = "\r" * row.endswith("\r")
        if row in ("", "\ufeff"):
            assert line == row
            continue
        start, _, number = line.removesuffix(ending).rpartition("\t")
        assert start + ending == row
        assert 0 <= float(number) <= 1 and len(number) == 6


BAD = {
    "NUL": (b"a1\0\tb1", "NUL byte in the source"),
    "invalid UTF-8": (b"a1\tb\xff", "the target is not UTF-8 at its byte 2"),
    "Latin-1": ("a1\tschön".encode("latin-1"), "the target is not UTF-8 at its byte 4"),
    "UTF-16": ("a1\tb1".encode("utf-16"), "NUL byte in the source"),
    "a surrogate": (b"a1\t\xed\xb2\x80", "the target is not UTF-8 at its byte 1"),
    "one column": (b"a1", "1 column, expected at least 2 (--tcol 2)"),
    "an empty line": (b"", "the source is empty"),
    "spaces for a tab": (b"a1    b1", "1 column, expected at least 2 (--tcol 2)"),
    "an empty source": (b"\tb1", "the source is empty"),
    "an empty target": (b"a1\t", "the target is empty"),
    "a target of blanks": ("a1\t \u00a0\u200b\u2028".encode(), "the target is empty"),
    "a megabyte without a tab": (LONG.encode(), "1 column, expected at least 2 (--tcol 2)"),
}


@pytest.mark.parametrize(("row", "reason"), BAD.values(), ids=BAD)
def test_bad_rows_stop_or_are_rejected(
    folder: Path, tmp_path: Path, row: bytes, reason: str
) -> None:
    pairs, out, rejects = (tmp_path / name for name in ("pairs.tsv", "out.tsv", "bad.tsv"))
    pairs.write_bytes(GOOD + row + b"\n" + GOOD)
    stopped = call(folder, "-i", pairs, "-o", out, data=b"")
    says_one_line(stopped, 65, f"{pairs}:2: {reason}; --on-error reject --rejects FILE keeps going")
    assert not out.exists()

    words = ("-i", pairs, "-o", out, "--on-error", "reject", "--rejects", rejects)
    assert call(folder, *words, data=b"").exit_code == 0
    first, middle, last, end = out.read_bytes().split(b"\n")
    assert (middle, end) == (row + b"\t", b"")
    assert first == last and first.startswith(GOOD[:-1] + b"\t0.")
    assert rejects.read_bytes() == f"2\t{reason}\t".encode() + row + b"\n"


def test_an_unknown_column_name(folder: Path) -> None:
    words = ("--header", "--scol", "en", "--tcol", "fr")
    result = call(folder, *words, data=b"en\tde\n" + GOOD)
    says_one_line(result, 65, "column 'fr' (--tcol) is not in the header; it has en, de")


ENGLISH = ["the dog drinks milk", "a cat is in the house", "the old dog sleeps"]
GERMAN = ["der hund trinkt milch", "eine katze ist im haus", "der alte hund schläft"]


@pytest.fixture(scope="module")
def english_german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows words of English from words of German."""
    sides = ENGLISH * 200, GERMAN * 200
    languages, segmentation = ("en", "de"), SegmenterSettings("none")
    processor = TextProcessor.learn(sides, languages, Normalisation(), segmentation)
    settings = AveragingSettings(4)
    network = AveragingNetwork(settings, processor.sizes())
    folder = tmp_path_factory.mktemp("models") / "en-de"
    with writing_folder(folder) as draft:
        ENCODERS.save(draft, ("averaging", settings), network, processor)
    return folder


def test_swapped_columns_are_warned_of(english_german: Path) -> None:
    pairs = [*zip(ENGLISH, GERMAN, strict=True)] * 10
    straight = "".join(f"{source}\t{target}\n" for source, target in pairs).encode()
    swapped = "".join(f"{target}\t{source}\n" for source, target in pairs).encode()
    quiet = [call(english_german, data=straight)]
    quiet.append(call(english_german, "--scol", "2", "--tcol", "1", data=swapped))
    assert not any("warning" in result.stderr for result in quiet)
    result = call(english_german, data=swapped)
    assert result.exit_code == 0
    assert "bitext-score: warning: the columns look swapped: " in result.stderr


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def reshape(path: Path) -> None:
    tensors = {name: tensor.repeat(2, 1) for name, tensor in load_tensors(path).items()}
    save_tensors(path, tensors)


def make_newer(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def configure(**changes: object) -> Callable[[Path], None]:
    """What changes a ``section_name`` of a configuration, or a whole ``section``."""

    def change(path: Path) -> None:
        config = json.loads(path.read_text())
        for place, value in changes.items():
            section, _, name = place.partition("_")
            config[section] = {**config[section], name: value} if name else value
        path.write_text(json.dumps(config))

    return change


DAMAGE: dict[str, tuple[str, Callable[[Path], None], int]] = {
    "no configuration": ("config.json", Path.unlink, 66),
    "no tensors": ("encoder.safetensors", Path.unlink, 66),
    "cut configuration": ("config.json", cut, 65),
    "cut tensors": ("encoder.safetensors", cut, 65),
    "cut vocabulary": ("vocabulary.tsv", cut, 65),
    "cut segmenter": ("segmenter.json", cut, 65),
    "cut classifier": ("classifier.safetensors", cut, 65),
    "cut neighbours": ("neighbours.npz", cut, 65),
    "a tensor of another shape": ("encoder.safetensors", reshape, 65),
    "a classifier of another shape": ("classifier.safetensors", reshape, 65),
    "a newer version": ("config.json", make_newer, 65),
    "a folder for a vocabulary": ("vocabulary.tsv", make_folder, 65),
    "a folder for a segmenter": ("segmenter.model", make_folder, 65),
    "a folder for tensors": ("encoder.safetensors", make_folder, 66),
    "a normalisation of words": ("config.json", configure(normalisation="lower"), 65),
    "one language": ("config.json", configure(languages=["aa"]), 65),
    "a wide encoder": ("config.json", configure(encoder_embedding=10**13), 65),
    "an encoder of words": ("config.json", configure(encoder_embedding="wide"), 65),
    "a wide classifier": ("config.json", configure(classifier_hidden=10**13), 65),
}


@pytest.mark.parametrize(("name", "damage", "code"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_model(
    folder: Path, tmp_path: Path, name: str, damage: Callable[[Path], None], code: int
) -> None:
    model = tmp_path / "model"
    as_older(shutil.copytree(folder, model))
    damage(model / name)
    result = call(model, "-o", tmp_path / "out.tsv")
    says_one_line(result, code, str(model))
    assert not (tmp_path / "out.tsv").exists()


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    says_one_line(call(tmp_path / "nothing"), 66, "nothing: neither a folder nor a shipped model")


def test_a_language_that_the_model_does_not_know(folder: Path, tmp_path: Path) -> None:
    words = ["--language", "xx", "-o", str(tmp_path / "out.npy"), "--model", str(folder)]
    result = CliRunner().invoke(embed.main, words, input=b"a1\n")
    says_one_line(result, 78, "the model's languages are aa and ba, not 'xx'")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_which_nothing_can_be_made(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "read-only"
    place.mkdir(mode=0o555)
    if os.access(place, os.W_OK):  # root may write anywhere, but not here
        place = Path("/proc")
    result = call(folder, "-o", place / "out.tsv")
    says_one_line(result, 74, f"{place / 'out.tsv'}: cannot be written")


def shell(folder: Path, line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which ``score`` is bitext-score with the toy model."""
    call = f"{sys.executable} {BIN / 'bitext-score'} --model {folder}"
    words = ["bash", "-c", f'unset PYTHONUNBUFFERED\nscore() {{ {call} "$@"; }}\n{line}']
    return subprocess.run(words, capture_output=True, timeout=120, check=False)


def test_a_full_disk(folder: Path) -> None:
    done = shell(folder, "yes $'a1\\tb1' | head -20000 | score > /dev/full")
    assert done.returncode == 74
    assert done.stderr == b"bitext-score: stdout: cannot be written: No space left on device\n"


def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    done = shell(folder, "yes $'a1\\tb1' | score --batch-size 9 | head -1; echo ${PIPESTATUS[1]}")
    assert done.stdout.startswith(b"a1\tb1\t0.") and done.stdout.endswith(b"\n0\n")
    assert done.stderr == b""


def test_an_upstream_that_died(folder: Path, tmp_path: Path) -> None:
    script = "(printf 'a1\\tb1\\na2\\tb2'; kill -9 $BASHPID) | score --manifest"
    done = shell(folder, f"{script} {tmp_path / 'run.json'}")
    assert done.returncode == 0
    assert [line.count(b"\t") for line in done.stdout.split(b"\n")] == [2, 2]
    assert b"bitext-score: 2 rows, 0 rejected" in done.stderr
    assert json.loads((tmp_path / "run.json").read_bytes())["counts"]["rows"] == 2


@pytest.fixture
def running(folder: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """bitext-score in the middle of a stream: one window is out, more will come."""
    words = [*heeding("bitext-score"), "--model", str(folder), "--batch-size", "1"]
    words += ["--on-error", "reject", "--rejects", str(tmp_path / "bad.tsv")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(words, **pipes, env={**os.environ, "TMPDIR": str(tmp_path)})
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(GOOD)
        process.stdin.flush()
        assert process.stdout.readline().startswith(GOOD[:-1] + b"\t0.")
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.gate(1)
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, b"interrupted"), (signal.SIGTERM, 143, b"terminated")],
)
def test_a_signal_mid_way(
    running: subprocess.Popen[bytes], tmp_path: Path, number: int, code: int, word: bytes
) -> None:
    assert [path.suffix for path in tmp_path.iterdir()] == [".partial"]
    time.sleep(0.1)
    running.send_signal(number)
    assert running.wait(60) == code
    assert running.stderr is not None
    assert running.stderr.read() == b"bitext-score: " + word + b"\n"
    assert list(tmp_path.iterdir()) == []


def test_settings_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(NotFoundError, match=f"^{re.escape(str(path))}: cannot be opened: "):
            read_settings(path)
