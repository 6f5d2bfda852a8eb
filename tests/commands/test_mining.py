"""bitext-align for large collections: going on after a kill, indexes, streams, forms of numbers."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

from bitextfilter.commands import align
from bitextfilter.io.records import read_record, write_record
from bitextfilter.mining import collection_mining
from bitextfilter.scoring.model import Model
from bitextfilter.search import clusters, faiss_index
from bitextfilter.search import tasks as search

SOURCES, TARGETS = sentences(900, 5)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (search, faiss_index, clusters):
        monkeypatch.setattr(module, "BLOCK", 600)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "source.txt", tmp_path / "target.txt"
    write(paths[0], [*SOURCES[:700], *SOURCES[:20]])
    write(paths[1], [*reversed(TARGETS[150:]), *TARGETS[160:170]])
    return paths


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def run(model: Path, *words: str | Path, text: bytes = b"") -> Result:
    arguments = [*(str(word) for word in words), "--model", str(model)]
    return CliRunner().invoke(align.main, arguments, input=text)


def output(model: Path, *words: str | Path, text: bytes = b"") -> str:
    done = run(model, *words, text=text)
    assert done.exit_code == 0, done.stderr
    return done.stdout


class Encoded:
    """How many sentences were encoded, and when to stop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.most = 0, 10**9
        whole = Model.encode

        def counting(model: Model, some: list[str], language: str) -> np.ndarray:
            self.count += len(some)
            if self.count > self.most:
                raise KeyboardInterrupt
            return whole(model, some, language)

        monkeypatch.setattr(Model, "encode", counting)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> Encoded:
    return Encoded(monkeypatch)


def test_what_is_kept_serves_other_similarities(
    model: Path, files: tuple[Path, Path], tmp_path: Path, encoded: Encoded
) -> None:
    ways = [("--similarity", name) for name in ("csls", "cosine", "euclidean", "mlp", "joint")]
    ways.append(("--retrieval", "intersect"))
    ways.append(("--keep-duplicates", "-q"))
    whole = [output(model, *files, *way) for way in ways]
    folder = tmp_path / "kept"
    assert output(model, *files, *ways[0], "--resume", folder) == whole[0]
    encoded.count = 0
    for way, expected in zip(ways, whole, strict=True):
        if "mlp" not in way and "joint" not in way:
            assert output(model, *files, *way, "--resume", folder) == expected
    assert encoded.count == 0
    for way, expected in zip(ways, whole, strict=True):
        assert output(model, *files, *way, "--resume", folder) == expected


@pytest.mark.gate(2)
@pytest.mark.parametrize("most", [0, 100, 699, 700, 900, 1400])
def test_stopped_while_encoding(
    model: Path,
    files: tuple[Path, Path],
    tmp_path: Path,
    encoded: Encoded,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bitextfilter.mining.collection_mining._SAFE_ROWS", 100)
    options = ("--batch-size", "60", "--resume", tmp_path / "kept")
    whole = output(model, *files)
    encoded.count, encoded.most = 0, most
    assert run(model, *files, *options).exit_code == 130
    assert encoded.count <= most + 60
    again = encoded.count = 0
    encoded.most = 10**9
    assert output(model, *files, *options) == whole
    again = encoded.count
    distinct = 700 + 750
    safe = most // 120 * 120 if most < 700 else 700 + (most - 700) // 120 * 120
    assert again == distinct - safe


@pytest.mark.parametrize("tasks", [0, 1, 3])
def test_stopped_while_searching(
    model: Path, files: tuple[Path, Path], tmp_path: Path, tasks: int
) -> None:
    whole = output(model, *files)
    folder = tmp_path / "kept"
    done: list[tuple[int, int]] = []
    take = search.NeighbourFiles.join

    def stopping(known: search.NeighbourFiles, part: search.BlockNeighbours) -> None:
        if len(done) == tasks and part.side == 1:
            raise KeyboardInterrupt
        take(known, part)
        done.extend([(0, 0)] * part.side)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search.NeighbourFiles, "join", stopping)
        assert run(model, *files, "--resume", folder).exit_code == 130
    record = folder / "nearest.4.exact" / "done"
    assert len(record.read_text().splitlines() if tasks else []) == tasks
    assert output(model, *files, "--resume", folder) == whole


def test_another_search_is_refused(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    whole = output(model, *files, "--resume", folder)
    refused = run(model, *files, "--resume", folder, "--dtype", "int8")
    assert refused.exit_code == 78
    assert refused.stderr.count("\n") == 1
    assert "kept is of another run: dtype was" in refused.stderr
    other = toy_model(tmp_path / "other", background=False)
    assert "is of another run: model was" in run(other, *files, "--resume", folder).stderr
    text = files[1].read_text()
    files[1].write_text(text + "b1 b2\n")
    refused = run(model, *files, "--resume", folder)
    assert (refused.exit_code, refused.stdout) == (78, "")
    assert "is of another run: target text was" in refused.stderr
    files[1].write_text(text)
    assert output(model, *files, "--resume", folder) == whole
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    refused = run(model, *files, "--resume", tmp_path / "full")
    assert refused.exit_code == 78
    assert "is not empty, and holds no earlier run" in refused.stderr
    (folder / "plan.json").write_text("{")
    refused = run(model, *files, "--resume", folder)
    assert refused.exit_code == 65
    assert "plan.json: damaged; remove the folder\n" in refused.stderr


def test_other_numbers_of_neighbours_in_one_folder(
    model: Path, files: tuple[Path, Path], tmp_path: Path, encoded: Encoded
) -> None:
    """Vectors serve whatever search there is."""
    whole = [output(model, *files, "-k", k) for k in "4714"]
    resumed = [output(model, *files, "-k", k, "--resume", tmp_path / "kept") for k in "471"]
    assert resumed == whole[:3]
    encoded.count = 0
    assert output(model, *files, "--resume", tmp_path / "kept") == whole[3]
    assert encoded.count == 0


@pytest.mark.parametrize(
    ("name", "left"), [("source.vectors", 1000), ("nearest.4.exact/target.nearest.00000", None)]
)
def test_what_is_missing_from_a_folder_is_said(
    model: Path, files: tuple[Path, Path], tmp_path: Path, name: str, left: int | None
) -> None:
    folder = tmp_path / "kept"
    output(model, *files, "--resume", folder)
    path = folder / name
    kept = path.read_bytes()
    path.unlink()
    if left is not None:
        path.write_bytes(kept[:left])
    refused = run(model, *files, "--resume", folder, "--retrieval", "forward", "-q")
    assert (refused.exit_code, refused.stdout) == (65, "")
    assert refused.stderr.count("\n") == 1
    assert "remove" in refused.stderr


def test_vectors_that_are_gone_are_made_again(
    model: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = tmp_path / "new" / "kept"
    whole = output(model, *files, "--resume", folder)
    (folder / "source.vectors").unlink()
    (folder / ".plan.json.123.partial").touch()
    (folder / ".index.123.partial").mkdir()
    (folder / ".index.123.partial" / "vectors").touch()
    assert output(model, *files, "--resume", folder) == whole
    assert not list(folder.glob(".*"))


def test_a_folder_that_cannot_be(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    refused = run(model, *files, "--resume", files[0])
    assert refused.exit_code == 74
    assert f"{files[0]}: cannot be made" in refused.stderr


def test_stopped_while_reading(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    whole = output(model, *files)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(files[1].read_bytes() + b"\xff\n")
    folder = tmp_path / "kept"
    assert run(model, files[0], bad, "--resume", folder).exit_code == 65
    assert output(model, *files, "--resume", folder) == whole


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_other_forms_of_numbers(model: Path, files: tuple[Path, Path], form: str) -> None:
    """The pairs are the same, and their scores nearly."""
    whole, other = (
        {tuple(row.split("\t")[:2]): float(row.split("\t")[2]) for row in found.splitlines()}
        for found in (
            output(model, *files, "--digits", "6", "--dtype", kind) for kind in ("float16", form)
        )
    )
    true = {(s, t) for s, t in zip(SOURCES[150:700], TARGETS[150:700], strict=True)}
    assert true <= whole.keys()
    assert true <= other.keys()
    for pair in true:
        assert other[pair] == pytest.approx(whole[pair], abs=0.02 if form == "int8" else 1e-3)


@pytest.mark.gate(2)
@pytest.mark.parametrize("similarity", ["csls", "ratio", "cosine", "euclidean", "mlp", "joint"])
def test_mining_more_against_an_index(
    model: Path, files: tuple[Path, Path], tmp_path: Path, similarity: str
) -> None:
    """What is mined in two goes has the scores of one."""
    how = ("--similarity", similarity, "--retrieval", "forward", "--digits", "6")
    whole = output(model, *files, *how).splitlines()
    parts = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    for number, path in enumerate(parts):
        write(path, SOURCES[:700][number::3])
    output(model, parts[0], files[1], *how, "--index-save", tmp_path / "one")
    output(
        model, parts[1], *how, "--index-load", tmp_path / "one", "--index-save", tmp_path / "two"
    )
    last = output(model, parts[2], *how, "--index-load", tmp_path / "two")
    sources = set(SOURCES[:700][2::3])
    assert last.splitlines() == [row for row in whole if row.split("\t")[0] in sources]


@pytest.mark.gate(2)
@pytest.mark.parametrize("similarity", ["csls", "ratio", "distance"])
@pytest.mark.parametrize("before", [0, 1, 2])
def test_an_index_that_knows_few_neighbours(
    model: Path, files: tuple[Path, Path], tmp_path: Path, similarity: str, before: int
) -> None:
    """Fewer than are wanted, and even with the new ones."""
    how = ("--similarity", similarity, "--retrieval", "forward", "--digits", "6")
    old, new, both = tmp_path / "old", tmp_path / "new", tmp_path / "both"
    write(old, SOURCES[200 : 200 + before])
    write(new, SOURCES[300:301])
    write(both, [*SOURCES[200 : 200 + before], SOURCES[300]])
    whole = output(model, both, files[1], *how)
    output(model, old, files[1], *how, "--index-save", tmp_path / "index")
    last = output(model, new, *how, "--index-load", tmp_path / "index")
    assert last.splitlines() == [
        row for row in whole.splitlines() if row.startswith(SOURCES[300] + "\t")
    ]
    streamed = output(model, new, "--stream", "--index-load", tmp_path / "index")
    assert "inf" not in streamed


def test_what_decides_about_an_index(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    """Its form of numbers is its own; fewer neighbours than it keeps will do; it has a digest."""
    one, two = tmp_path / "one", tmp_path / "two"
    parts = tmp_path / "1", tmp_path / "2"
    for number, path in enumerate(parts):
        write(path, SOURCES[number:700:2])
    how = ("--retrieval", "forward", "--digits", "6", "-k", "3")
    whole = output(model, *files, *how, "--dtype", "int8").splitlines()
    output(model, parts[0], files[1], "-k", "5", "--dtype", "int8", "--index-save", one)
    load = (*how, "--index-load", one, "--dtype", "int8")
    last = output(model, parts[1], *load, "--index-save", two).splitlines()
    sources = set(SOURCES[1:700:2])
    assert last == [row for row in whole if row.split("\t")[0] in sources]
    assert output(model, parts[1], *how, "--index-load", one, "--dtype", "float32") != ""
    kept = ("--resume", tmp_path / "kept")
    output(model, parts[1], "-k", "3", "--index-load", one, *kept)
    refused = run(model, parts[1], "-k", "3", "--index-load", two, *kept)
    assert refused.exit_code == 78
    assert "is of another run: index loaded was" in refused.stderr


def test_an_index_is_saved_again_by_a_run_that_goes_on(
    model: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    words = (*files, "--resume", tmp_path / "kept", "--index-save", tmp_path / "index")
    assert output(model, *words) == output(model, *words)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["index", "kept"]
    refused = run(model, *words, "-k", "2")
    assert refused.exit_code == 74
    assert "holds another index" in refused.stderr


@pytest.mark.parametrize("similarity", ["csls", "cosine", "joint"])
def test_a_stream_against_an_index(
    model: Path, files: tuple[Path, Path], tmp_path: Path, similarity: str
) -> None:
    """In the order of the input, by the neighbours that the index knows."""
    how = ("--similarity", similarity, "--retrieval", "forward", "--digits", "6")
    whole = output(model, *files, *how, "--index-save", tmp_path / "index").splitlines()
    best = {row.split("\t")[0]: row for row in whole}
    lines = files[0].read_text().splitlines()
    options = ("--index-load", tmp_path / "index", "--stream", "--batch-size", "64")
    some = [word for word in how if word not in ("--retrieval", "forward")]
    streamed = output(model, "-", *some, *options, text=files[0].read_bytes())
    assert streamed.splitlines() == [best[line] for line in lines]
    scores = sorted({float(row.split("\t")[2]) for row in best.values()})
    least = sum(scores[300:302]) / 2
    cut = output(model, files[0], *some, *options, "--min-score", str(least)).splitlines()
    assert cut == [best[line] for line in lines if float(best[line].split("\t")[2]) >= least]
    assert 0 < len(cut) < len(lines)


def test_indexes_that_cannot_serve(model: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    index = tmp_path / "index"
    output(model, *files, "--index-save", index)
    load = ("--index-load", index)
    for words, code, text in (
        ((*files, "--index-save", index), 2, "exists already"),
        ((*files, *load), 2, "takes the place of TARGET"),
        ((files[0], *load, "-k", "9"), 78, "keeps 4 neighbours, not 9; take -k 4"),
        ((files[0], "--index-load", tmp_path), 66, "no index there"),
        ((files[0], *load, "--stream", "--retrieval", "max"), 2, "--retrieval does not go with"),
        ((*files, "--stream"), 2, "--stream needs --index-load"),
        ((*files, "--index-save", tmp_path / "no" / "x"), 2, "there is no folder"),
        ((*files, "--index-save", "x", "--resume", "x"), 2, "is the folder of --resume"),
        ((*files, "--index", "exact", "--recall", "0.9"), 2, "--recall is for other searches"),
        ((*files, "--monotonic", "--resume", "x"), 2, "--resume does not go with --monotonic"),
    ):
        refused = run(model, *words)
        assert (refused.exit_code, refused.stdout) == (code, ""), refused.stderr
        assert text in refused.stderr
    other = toy_model(tmp_path / "other", background=False)
    refused = run(other, files[0], *load)
    assert refused.exit_code == 78
    assert "index: was made by the model" in refused.stderr
    for name in ("index.json", "nearest", "vectors", "sentences"):
        kept = (index / name).read_bytes()
        (index / name).write_bytes(kept[: len(kept) // 2])
        assert run(model, files[0], *load).exit_code == 65, name
        (index / name).write_bytes(kept)
    (index / "digests.json").unlink()  # as older versions wrote it
    assert run(model, files[0], *load).exit_code == 0
    known = json.loads((index / "index.json").read_text())
    (index / "index.json").write_text(json.dumps({**known, "format": 99}))
    assert run(model, files[0], *load).exit_code == 78


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr(collection_mining, "_FEWEST_ROWS", 10)


@pytest.mark.gate(1)
@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("kind", ["flat", "ivf", "ivf-sq8", "ivf-pq"])
def test_an_index_finds_what_exact_search_finds(
    model: Path, files: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    """A recall of all of a sample that is everything; scores of what is found are exact."""
    whole = output(
        model, *files, "--similarity", "cosine", "--retrieval", "forward", "--digits", "6"
    )
    how = ("--similarity", "cosine", "--retrieval", "forward", "--digits", "6", "--index", kind)
    manifest = tmp_path / "run.json"
    found = run(model, *files, *how, "--recall", "1", "--manifest", manifest)
    assert found.exit_code == 0, found.stderr
    assert found.stdout == whole
    assert f"making indexes of 700 and 750 distinct sentences: {kind}" in found.stderr
    facts = json.loads(manifest.read_text())
    assert facts["facts"]["index"] == kind
    assert facts["facts"]["recall of sources"] == 1
    least = output(model, *files, *how, "--recall", "0.5")
    rows, known = least.splitlines(), set(whole.splitlines())
    assert sum(row in known for row in rows) >= 0.5 * len(known)


@pytest.mark.usefixtures("few_rows")
def test_clusters_find_what_they_say(
    model: Path, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of what is found are exact; faiss is not needed."""
    monkeypatch.setitem(sys.modules, "faiss", None)
    how = ("--similarity", "cosine", "--retrieval", "forward", "--digits", "6")
    known, manifest = set(output(model, *files, *how).splitlines()), tmp_path / "run.json"
    done = run(model, *files, *how, "--index", "clusters", "--recall", ".8", "--manifest", manifest)
    assert done.exit_code == 0, done.stderr
    assert "dividing 700 and 750 distinct sentences into clusters" in done.stderr
    assert re.search(r"within \d+ of 21 clusters \(\d+\.\d\d% of all pairs\)", done.stderr)
    facts = json.loads(manifest.read_text())["facts"]
    assert facts["index"] == "clusters"
    rows = done.stdout.splitlines()
    share = sum(row in known for row in rows) / len(known)
    assert share == pytest.approx(facts["recall of sources"], abs=0.003)
    assert 0.8 <= share < 1
    refused = run(model, *files, *how, "--index", "clusters", "--recall", "1")
    assert refused.exit_code == 78
    assert "to find 1 of the nearest: take --index exact, or a lower --recall" in refused.stderr


@pytest.mark.usefixtures("few_rows")
def test_lists_that_hold_too_few(model: Path, files: tuple[Path, Path]) -> None:
    """Where a search gives fewer than are wanted, it looks further: no pair is of nothing."""
    how = ("--index", "ivf", "-k", "60", "--recall", "0.1")
    done = run(model, *files, *how)
    assert done.exit_code == 0, done.stderr
    assert "Warning" not in done.stderr
    assert "inf" not in done.stdout
    assert len(done.stdout.splitlines()) > 600


@pytest.mark.usefixtures("few_rows")
def test_how_an_index_is_searched_is_what_was_measured(
    model: Path, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bitextfilter.search import faiss_index as indexes

    asked: list[tuple[int, int]] = []
    candidates = indexes.Index.candidates

    def spy(
        index: indexes.Index, queries: np.ndarray, k: int, lists: int, more: int = 1
    ) -> np.ndarray:
        asked.append((lists, more))
        return candidates(index, queries, k, lists, more)

    monkeypatch.setattr(indexes.Index, "candidates", spy)
    kept = (*files, "--index", "ivf-pq", "--recall", "0.9", "--resume", tmp_path / "kept")
    whole = output(model, *kept)
    folder = tmp_path / "kept" / "nearest.4.ivf-pq.0.9"
    tuned = read_record(folder / "tuned.json")["searches"]
    tuned[0][0], tuned[0][2], tuned[1][0], tuned[1][2] = 3, 2, 5, 4
    write_record(folder / "tuned.json", {"searches": tuned})
    for path in [folder / "done", *folder.glob("*.nearest.*")]:
        path.unlink()
    asked.clear()
    built = {path: path.stat().st_mtime_ns for path in folder.glob("*.index")}
    output(model, *kept)
    lists = tuned[0][1], tuned[1][1]
    assert {(3, 2), (5, 4)} <= set(asked) <= {(3, 2), (5, 4), (lists[0], 2), (lists[1], 4)}
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.index")} == built
    (folder / "target.index").write_bytes(b"xx")
    (folder / "done").unlink()
    damaged = run(model, *kept)
    assert damaged.exit_code == 65
    (folder / "target.index").unlink()
    for path in [folder / "tuned.json", *folder.glob("*.nearest.*")]:
        path.unlink()
    assert output(model, *kept) == whole
    (folder / "tuned.json").write_text("{")
    assert run(model, *kept).exit_code == 65


@pytest.mark.usefixtures("few_rows")
def test_a_recall_that_cannot_be_reached_is_said(
    model: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from bitextfilter.search.faiss_index import Index

    monkeypatch.setattr(
        Index, "candidates", lambda _, queries, *__: np.zeros((len(queries), 1), int)
    )
    refused = run(model, *files, "--index", "ivf")
    assert refused.exit_code == 78
    assert "of the nearest at most, not 0.95: take --index exact" in refused.stderr


def test_faiss_that_is_not_there(
    model: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collection_mining, "_FEWEST_ROWS", 10)
    monkeypatch.setitem(sys.modules, "faiss", None)
    refused = run(model, *files, "--index", "ivf")
    assert refused.exit_code == 69
    assert "pip install 'bitextfilter[cpu]'" in refused.stderr
    assert run(model, *files).exit_code == 0


@pytest.mark.parametrize(
    ("asked", "sizes", "kind"),
    [
        ("auto", (1_000_000, 1_000_000), "exact"),
        ("auto", (10_000_000, 2_000_000), "exact"),
        ("auto", (10_000_000, 2_000_001), "clusters"),
        ("auto", (10**9, 9_999), "exact"),
        ("ivf", (10_000, 10_000), "ivf"),
        ("ivf", (10_000, 9_999), "exact"),
        ("exact", (10**9, 10**9), "exact"),
    ],
)
def test_which_kind_of_search(asked: str, sizes: tuple[int, int], kind: str) -> None:
    assert collection_mining.search_kind(asked, sizes) == kind


def test_which_kind_of_search_on_a_gpu() -> None:
    assert collection_mining.search_kind("auto", (10**8, 10**7), on_gpu=True) == "exact"
    assert collection_mining.search_kind("auto", (10**8, 10**7 + 1), on_gpu=True) == "clusters"
    assert collection_mining.search_kind("clusters", (10**5, 10**5), on_gpu=True) == "clusters"


def test_on_a_gpu_it_is_the_same(
    model: Path, files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the search of a GPU computes on the processor."""
    whole = output(model, *files)
    monkeypatch.setattr(collection_mining, "searching_device", lambda *_: "cpu")
    manifest = tmp_path / "run.json"
    done = run(model, *files, "--manifest", manifest)
    assert done.stdout == whole
    assert "comparing 700 with 750 distinct sentences, each with each, on cpu" in done.stderr
    assert json.loads(manifest.read_text())["facts"]["search device"] == "cpu"


def test_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    """Noticed before anything is read."""
    vectors = tmp_path / "vectors.npy"
    np.save(vectors, np.eye(3, dtype=np.float32))
    words = ("--source-vectors", vectors, "--target-vectors", vectors, "--index", "exact")
    write(tmp_path / "some.txt", ["a", "b", "c"])
    files = (str(tmp_path / "some.txt"),) * 2
    done = CliRunner().invoke(align.main, ["--device", "cuda:9", *map(str, words), *files])
    assert done.exit_code == 69
    assert "there is no such CUDA device here; use --device cpu" in done.stderr
