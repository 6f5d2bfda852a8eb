"""A Ray cluster for the tests of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ray.cluster_utils import Cluster

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A cluster whose head does no work, and two nodes that do."""
    paths = [str(ROOT), str(ROOT / "tests/support")]
    from nodes import add_node
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        head = {"num_cpus": 0, "object_store_memory": 1 << 27, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args=head)
        for _ in range(2):
            add_node(made)
        yield made
        made.shutdown()
