"""bitext-align on a cluster: the same bytes, whoever dies."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toys import sentences, toy_model

pytest.importorskip("ray")

from nodes import add_node
from ray.cluster_utils import Cluster

from bitextfilter.commands import align

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="Ray has clusters of nodes on Linux"
)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("mining")
    paths = folder / "source.txt", folder / "target.txt"
    for path, lines in zip(paths, sentences(1000, 4), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines[::-1]))
    return [*map(str, paths), "--model", str(toy_model(folder / "model")), "--batch-size", "20"]


def run(*words: str | Path) -> Result:
    result = CliRunner().invoke(align.main, [str(word) for word in words])
    assert result.exit_code == 0, result.stderr
    return result


def test_a_node_that_dies_while_encoding(
    cluster: Cluster, words: list[str], tmp_path: Path
) -> None:
    whole = run(*words).stdout
    node, work = add_node(cluster), tmp_path / "work"
    vectors = work / "source.vectors"

    def remove() -> None:
        while not (vectors.exists() and vectors.stat().st_size):
            time.sleep(0.01)
        cluster.remove_node(node, allow_graceful=False)

    watch = threading.Thread(target=remove)
    watch.start()
    on_ray = ["--engine", "ray", "--ray-address", cluster.address]
    assert run(*words, *on_ray, "--resume", work).stdout == whole
    watch.join()
    shutil.rmtree(work / "nearest.4.exact")
    assert run(*words, *on_ray, "--resume", work).stdout == whole


def test_by_an_index(
    cluster: Cluster, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setattr("bitextfilter.mining.index._FEWEST_ROWS", 10)
    index = [*words, "--index", "ivf-sq8", "--recall", "0.9"]
    whole = run(*index).stdout
    on_ray = ["--engine", "ray", "--ray-address", cluster.address, "-o", str(tmp_path / "out")]
    run(*index, *on_ray)
    assert (tmp_path / "out").read_text() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
