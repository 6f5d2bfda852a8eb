from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

fsspec = pytest.importorskip("fsspec")

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem  # noqa: E402

from bitextfilter.commands import convert, rank  # noqa: E402
from bitextfilter.errors import DeviceError, NotFoundError, OutputError  # noqa: E402
from bitextfilter.io.files import (  # noqa: E402
    make_folder,
    open_folder,
    open_input,
    open_output,
    open_outputs,
)
from bitextfilter.io.sources import is_remote, open_remote  # noqa: E402
from bitextfilter.io.work_folder import claim  # noqa: E402
from bitextfilter.models.folders import check_replaceable  # noqa: E402
from bitextfilter.scoring.cached_scores import Cache  # noqa: E402


class Store(AbstractFileSystem):  # type: ignore[misc]
    """An object store that publishes on close, as Hugging Face's, and may fail."""

    protocol = "store"
    objects: dict[str, bytes] = {}  # noqa: RUF012
    fails = ""

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        return _Object(self, path, mode, **{**options, "block_size": 7, "size": 0})


class _Object(AbstractBufferedFile):  # type: ignore[misc]
    def _initiate_upload(self) -> None:
        self.parts = b""

    def _upload_chunk(self, final: bool = False) -> bool:
        if Store.fails == ("close" if final else "write"):
            raise KeyError("the store is full")
        self.buffer.seek(0)
        self.parts += self.buffer.read()
        if final:
            Store.objects[self.path] = self.parts
        return True


@pytest.fixture
def memory() -> Iterator[dict[str, Any]]:
    """The files of memory://."""
    store: dict[str, Any] = fsspec.filesystem("memory").store
    store.clear()
    fsspec.register_implementation("store", Store, clobber=True)
    Store.objects.clear()
    Store.fails = ""
    yield store
    store.clear()


def put(name: str, data: bytes) -> str:
    with fsspec.open(f"memory://{name}", "wb") as stream:
        stream.write(data)
    return f"memory://{name}"


def test_what_is_a_url(tmp_path: Path) -> None:
    assert all(map(is_remote, ["s3://b/k", Path("s3://b/k"), "simplecache::gs://b/k", "hf://a"]))
    here = ["-", "a.tsv", "./s3://b", "/a://b", "en-de:de,cs", "a:b", "C:/x", tmp_path]
    assert not any(map(is_remote, here))


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_written_and_read_again(memory: dict[str, Any], tmp_path: Path, ending: str) -> None:
    data = b"a\tb\n" * 50_000
    for base in ("memory://d/x", f"file://{tmp_path}/x"):
        with open_output(base + ending) as stream:
            stream.write(data[:9])
            stream.write(data[9:])
            assert not memory and not list(tmp_path.iterdir())
        with open_input(base + ending) as stream:
            assert stream.read(4) + stream.read() == data
        memory.clear()
    if ending == ".gz":
        assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == data


@pytest.mark.parametrize("base", ["memory://x", "store://x", "file://{}/x"])
def test_an_error_leaves_nothing(memory: dict[str, Any], tmp_path: Path, base: str) -> None:
    def interrupted() -> None:
        with open_output(base.format(tmp_path)) as stream:
            stream.write(b"much more than a block")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not memory and not list(tmp_path.iterdir()) and not Store.objects


@pytest.mark.parametrize("when", ["write", "close"])
def test_a_store_that_fails(memory: dict[str, Any], tmp_path: Path, when: str) -> None:
    """All files or none: also the one here."""
    with open_output("store://x") as stream:
        stream.write(b"of several parts")
    assert Store.objects == {"x": b"of several parts"}
    Store.fails = when

    def write() -> None:
        with open_outputs(["store://y", str(tmp_path / "here")]) as (there, here):
            here.write(b"a")
            there.write(b"of several parts")

    message = "store://y: cannot be written: KeyError: 'the store is full'"
    with pytest.raises(OutputError, match=message):
        write()
    assert list(Store.objects) == ["x"] and not list(tmp_path.iterdir()) and not memory


def test_urls_that_cannot_be_opened(
    memory: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotFoundError, match=r"^memory://none.tsv: cannot be opened"):
        open_input("memory://none.tsv").__enter__()
    with pytest.raises(DeviceError, match=r"^none://x: nothing reads none://: \./none://x is"):
        open_input("none://x").__enter__()
    with pytest.raises(OutputError, match=r"^memory://x: a folder can only be written here"):
        make_folder("memory://x")
    with pytest.raises(OutputError, match=r"^memory://x: a folder can only be written here"):
        open_folder("memory://x", ["a"]).__enter__()
    for begin in (Cache, check_replaceable, lambda url: claim(url, {})):
        with pytest.raises(OutputError, match="a folder can only be written here"):
            begin(Path("memory://x"))
    fsspec.register_implementation("lacking", "no_such_package.Files", errtxt="Install no_such")
    with pytest.raises(DeviceError, match=r"^lacking://x: .*nstall no_such"):
        open_remote("lacking://x")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(
        DeviceError, match=r"URLs need fsspec: pip install 'bitextfilter\[remote\]'"
    ):
        open_remote("memory://x")


def call(command: Any, *words: str) -> Result:
    return CliRunner().invoke(command, ["-q", *words])


def test_commands(memory: dict[str, Any]) -> None:
    rows = put("in.tsv", b"s\tt\tn\na\tb\t1\nc\td\t2\n")
    words = ("--header", "--column", "n", "-i", rows)
    result = call(rank.main, *words, "-o", "memory://out.tsv.gz")
    assert (result.exit_code, result.stderr) == (0, "")
    assert gzip.decompress(memory["/out.tsv.gz"].getvalue()) == b"s\tt\tn\nc\td\t2\na\tb\t1\n"
    out = "memory://out.parquet"
    assert call(convert.main, "--to", "parquet", "--header", rows, "-o", out).exit_code == 0
    assert call(rank.main, "-i", out, "--column", "n").stdout == "s\tt\tn\nc\td\t2\na\tb\t1\n"
    memory.pop("/out.parquet")
    bad = put("bad.tsv", b"a\tb\nc\n")
    result = call(convert.main, "--to", "parquet", bad, "-o", out)
    assert (result.exit_code, list(memory)) == (65, ["/in.tsv", "/out.tsv.gz", "/bad.tsv"])
    result = call(rank.main, "-i", "memory://none", "-o", out)
    assert (result.exit_code, result.stderr.count("\n")) == (66, 1)
    assert call(rank.main, "-i", "none://x").exit_code == 69
