"""Low limits, odd places and hostile input: a clear line, and nothing partial."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import shutil
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import limits
import pytest
import zstandard
from click.testing import CliRunner, Result
from console import BIN, command

from bitextfilter.commands.frame import exits
from bitextfilter.commands.frame.exits import Guard, open_closed_streams
from bitextfilter.corpus.formats.fields import JsonReader
from bitextfilter.errors import InputError, ModelError, printable
from bitextfilter.io import files
from bitextfilter.io import sources as unpack
from bitextfilter.io.files import naming_input
from bitextfilter.io.lines import lines_of
from bitextfilter.io.records import parse_json
from bitextfilter.io.row_reader import RowReader
from bitextfilter.io.rows import TextColumn
from bitextfilter.models.folders import read_config

PAIRS = b"a small house\tein kleines Haus\t0.5\n" * 20
EVIL = "\x1b[31m\x9b\r\n\u202e\u2028"
ESCAPED = r"\x1b[31m\x9b\r\n\u202e\u2028"


def call(line: str, data: bytes = b"", **names: object) -> Result:
    name, *words = line.split()
    return CliRunner().invoke(command(name), [w.format(**names) for w in words], input=data)


def says(result: Result, code: int, *words: str) -> None:
    assert result.exit_code == code, result.stderr
    assert all(c == "\n" or c.isprintable() for c in result.stderr)
    assert all(word in result.stderr for word in words), result.stderr


@pytest.mark.gate(4)
@pytest.mark.parametrize("attack", limits.ATTACKS, ids=lambda attack: str(attack.__name__))
def test_attacks(attack: Any, tmp_path: Path) -> None:
    chooser = Random(5)
    name = chooser.choice(limits.LIGHT)
    limits.attempt(name, [attack], chooser, tmp_path)


BOMBS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstandard.compress,
}  # fmt: skip


@pytest.mark.gate(1)
@pytest.mark.parametrize("ending", BOMBS)
def test_bombs_take_little_memory(ending: str, tmp_path: Path) -> None:
    """3 GB of zeros in one line; the command alone takes 60 MB of addresses."""
    bomb, part = tmp_path / f"bomb.{ending}", BOMBS[ending](bytes(1 << 22))
    bomb.write_bytes(part * 768)
    words = [
        "sh", "-c", 'ulimit -v 350000; exec "$@"', "sh", sys.executable, str(BIN / "bitext-fix"),
    ]  # fmt: skip
    words += ["-i", str(bomb), "-o", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, check=False, text=True)
    assert done.returncode == 65, done.stderr
    assert f"{bomb}:1: the line is longer than 64 MiB" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [bomb.name]


@pytest.mark.gate(1)
@pytest.mark.parametrize("ending", BOMBS)
def test_many_short_lines_take_little_memory(ending: str, tmp_path: Path) -> None:
    """All lines of 4 bytes would take 12 MB; the window of xz is 8 MiB."""
    bomb = tmp_path / f"bomb.{ending}"
    bomb.write_bytes(BOMBS[ending](b"a\tb\n" * (1 << 16)) * 4)
    tracemalloc.start()
    with files.open_input(bomb) as stream:
        count = sum(1 for _ in lines_of(stream, "rows"))
        _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 1 << 18
    assert peak < 10 << 20


def test_the_longest_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("bitextfilter.io.lines.LINE_BYTES", 12)
    (tmp_path / "rows").write_bytes(b"a\tb\n" + b"12345\t12345\n" + b"12345\t123456\n")
    lines: list[bytes] = []
    stops = pytest.raises(InputError, match=r"rows:3: the line is longer")
    with files.open_input(tmp_path / "rows") as stream, stops:
        lines.extend(lines_of(stream, "rows"))
    assert lines == [b"a\tb\n", b"12345\t12345\n"]


@pytest.mark.gate(0)
def test_windows_of_unpackers(tmp_path: Path) -> None:
    """A window of 1 GiB is refused, one of 128 MiB is not."""
    for size, code in (30, 65), (27, 0):
        filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << size}]
        (tmp_path / "p.xz").write_bytes(lzma.compress(PAIRS, filters=filters))
        shape = zstandard.ZstdCompressionParameters(window_log=size, enable_ldm=True)
        packer = zstandard.ZstdCompressor(compression_params=shape).compressobj()
        (tmp_path / "p.zst").write_bytes(packer.compress(PAIRS) + packer.flush())
        for name in ("p.xz", "p.zst"):
            result = call("bitext-fix -i {path}", path=tmp_path / name)
            says(result, code, *["p.", "cannot be read any further"] * bool(code))


def test_streams_of_xz(tmp_path: Path) -> None:
    one, path = lzma.compress(b"a\n"), tmp_path / "p.xz"
    for data, found in (
        (one, b"a\n"),
        (one + one, b"a\na\n"),
        (one + bytes(8) + one + bytes(4), b"a\na\n"),
        (one + one[:-5], None),
        (b"", None),
        (one + b"junk", None),
    ):
        path.write_bytes(data)
        with files.open_input(path) as stream:
            if found is None:
                with pytest.raises((EOFError, lzma.LZMAError)):
                    stream.read()
            else:
                assert stream.read() == found


HEAD = '<tmx version="1.4"><header/><body>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<tu>" + "<hi>" * 99, "elements more than 100 deep"),
        ("<!--" + "x" * (3 << 20), "a tag or comment longer than 1 MiB"),
        ("<tu " + " ".join(f"a{n}=''" for n in range(300_000)), "a tag or comment longer than"),
        ("<tu><tuv xml:lang='aa'><seg>" + "x" * 70_000, "a unit larger than 0 MiB"),
        ("<tu>" + "<tuv><seg/></tuv>" * 400, "a unit larger than 0 MiB"),
    ],
)
def test_tmx_is_bounded(body: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitextfilter.corpus.formats.xml_units.LINE_BYTES", 1 << 16)
    data = (HEAD + body).encode()
    says(call("bitext-convert --from tmx --languages aa,ba", data), 65, "stdin:1: ", message)


def test_large_tmx_of_small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bitextfilter.corpus.formats.xml_units.LINE_BYTES", 1 << 12)
    unit = "".join(f"<tuv xml:lang='{code}'><seg>{'x' * 200}</seg></tuv>" for code in ("aa", "ba"))
    text = f"{HEAD}<!--{'x' * 900_000}-->" + f"<tu>{unit}</tu>\n" * 5000 + "</body></tmx>"
    result = call("bitext-convert --from tmx --languages aa,ba", text.encode())
    assert (result.exit_code, result.stdout.count("\n")) == (0, 5000)


@pytest.mark.parametrize("depth", [101, 100_000])
def test_deep_json(depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    with pytest.raises(ValueError, match="more than 100 deep"):
        parse_json(deep)
    assert parse_json('{"a": "[[\\"' + "[" * 200 + '"}') == {"a": '[["' + "[" * 200}
    assert parse_json("[" * 100 + "]" * 100)
    says(call("bitext-fix", deep.encode()), 65, "stdin:1: 1 column")
    (tmp_path / "config.json").write_text(deep)
    (tmp_path / "rules.toml").write_text(f"a = {'[' * 5000}")
    with pytest.raises(ModelError, match=r"config\.json: .* deep"):
        read_config(tmp_path)
    says(call("bitext-filter --rules {r}", PAIRS, r=tmp_path / "rules.toml"), 78, "too deep")


def test_names_of_json_are_bounded() -> None:
    """A long name before many others once made as many long names."""
    inner = {f"{n}": 0 for n in range(20_000)}
    row = json.dumps({"source": "a", "target": "b", "x" * 10_000: inner}) + "\n"
    rows = RowReader([row.encode()], "rows", TextColumn())
    reader = JsonReader(rows, ("source", "target"), ())
    assert len(list(reader)) == 1
    assert len(reader.dropped) == 20 and max(map(len, reader.dropped)) < 500
    result = call("bitext-convert --from jsonl --fields source,no", row.encode())
    says(result, 65, "no field 'no': it has source")
    assert len(result.stderr) < 3000


def test_settings_of_any_size() -> None:
    says(call("bitext-filter --rules /dev/zero", PAIRS), 65, "/dev/zero: larger than 64 MiB")


def test_messages_cannot_command_a_terminal(tmp_path: Path) -> None:
    assert printable(EVIL) == ESCAPED and printable("é 東 א") == "é 東 א"
    assert len(printable("x" * 10**6)) < 3000
    path = tmp_path / f"{EVIL}\udcff"
    path.write_bytes(b"a\n")
    says(call("bitext-fix -i {path}", path=path), 65, rf"{ESCAPED}\udcff:1: 1 column")
    header = f"\x1b[2J{EVIL[1:5]}\u202e a\tb\n".replace("\n", "", 1).encode() + b"a\tb\n"
    says(call("bitext-fix --header --scol no", header), 65, r"it has \x1b[2J", r"\u202e a")
    says(call("bitext-fix --no\x1b[31m"), 2, "No such option")
    says(call("bitext-fix --scol {c}", c=f"0{EVIL}"), 2)


def test_reasons_of_rejects_are_one_field(tmp_path: Path) -> None:
    row, path = '{"a\\tb\\n\\u001b": "x"}', tmp_path / "rejects"
    line = "bitext-convert --from jsonl --on-error reject --rejects {path}"
    says(call(line, f"{row}\n".encode(), path=path), 0)
    number, reason, kept = path.read_text().removesuffix("\n").split("\t")
    assert (number, kept) == ("1", row) and r"it has a\tb\n\x1b" in reason


def test_a_bug_is_not_told_on_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    said, out = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    for stream in (said, None):
        monkeypatch.setattr(sys, "stderr", stream)
        with Guard("bitext-x", verbose=False) as guard:
            raise KeyError(EVIL)
        assert guard.code == 70
    assert out.getvalue() == "" and "\x1b" not in said.getvalue()


def zstd_error(message: str) -> Exception:
    """The error of the real library, by causing one: its module depends on Python's version."""
    with pytest.raises(Exception, match=r"zstd|Zstandard") as caught:
        unpack.open_zst(__file__).read()
    return type(caught.value)(message)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemoryError(), 71),
        (RuntimeError("can't start new thread"), 71),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 71),
        (ImportError("libtorch_cpu.so: failed to map segment from shared object"), 71),
        (RuntimeError("unable to open file <m> in read-only mode: Too many open files (24)"), 71),
        (zstd_error("Unable to compress: Allocation error : not enough memory"), 71),
        (zstd_error("anything else"), 70),
        (ImportError("no such symbol"), 70),
        (RuntimeError("anything else"), 70),
        (ModelError("too large"), 65),
        (OSError(errno.EMFILE, "Too many open files"), 71),
    ],
)
def test_shortage(error: Exception, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    for first in (None, MemoryError() if code != 70 else None):
        with Guard("bitext-x", verbose=False) as guard:
            raise error from first
        assert guard.code == code
        assert ("Traceback" in capsys.readouterr().err) == (code == 70)
    assert "   71  out of memory" in exits.EXIT_HELP


def test_too_many_open_files_are_a_shortage_and_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Guard("bitext-x", verbose=False) as guard, naming_input("pairs.tsv"):
        raise OSError(errno.EMFILE, "Too many open files")
    assert guard.code == 71
    assert capsys.readouterr().err == "bitext-x: pairs.tsv: cannot be opened: Too many open files\n"


def test_closed_streams_are_held(tmp_path: Path) -> None:
    """No file takes their numbers, into which libraries write."""
    script = (
        "import os; os.close(0); os.close(1); os.close(2)\n"
        "from bitextfilter.commands.fix import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: pass\n"
        f"assert os.open({str(tmp_path / 'f')!r}, os.O_CREAT | os.O_WRONLY) > 2\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert done.returncode == 0
    free = os.dup(0)
    os.close(free)
    open_closed_streams()
    again = os.dup(0)
    os.close(again)
    assert again == free


def test_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-i").write_bytes(PAIRS)
    for name in ("-o", "-", "x" * 255, "é" * 127, "\udcff\n"):
        out = "-" if name == "-" else f"{tmp_path}/{name}"
        manifest = "./-m"
        says(call("bitext-fix -i -i -o {o} --manifest {m}", o=out, m=manifest), 0)
        if name != "-":
            assert Path(out).read_bytes() == PAIRS
        assert json.loads(Path("-m").read_bytes())["command"][4] == out
    assert sorted(p.name[0] for p in tmp_path.iterdir()) == ["-", "-", "-", "x", "é", "\udcff"]


def test_a_removed_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    says(call("bitext-rank --column 3", PAIRS), 66, "the working folder was removed")
    says(call("bitext-rank --help"), 0)


@pytest.mark.gate(0)
def test_nothing_reads_the_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refused(*words: object, **_: object) -> NoReturn:
        raise AssertionError(f"a socket: {words}")

    for name in ("connect", "connect_ex", "bind", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    names = {key: str(tmp_path / key) for key in limits.OWN}
    for name in set(limits.COMMANDS) - {"processes"}:
        words = limits.words_of(name, names)
        result = CliRunner().invoke(command(words[0]), words[1:])
        assert result.exit_code == 0, result.output
        for path in (Path(path) for path in names.values()):
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
