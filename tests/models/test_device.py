"""One thread for torch, and products that do not depend on the place of a row."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest
import torch
from torch.nn.functional import linear

from bitextfilter.models.device import one_torch_thread
from bitextfilter.models.layers import Outputs


def test_torch_has_one_thread_until_the_last_is_done() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    inside, done = threading.Event(), threading.Event()

    def compute() -> None:
        with one_torch_thread():
            inside.set()
            done.wait(10)

    other = threading.Thread(target=compute)
    with one_torch_thread():
        other.start()
        assert inside.wait(10)
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 1
    done.set()
    other.join()
    with one_torch_thread():
        assert torch.get_num_threads() == 1
    torch.set_num_threads(before)


@pytest.mark.parametrize("inputs", [6, 9, 50, 64])
@pytest.mark.parametrize("outputs", [2, 3, 6, 9, 18, 64])
def test_a_product_is_the_same_wherever_its_row_stands(inputs: int, outputs: int) -> None:
    torch.manual_seed(1)
    row, weight = torch.randn(inputs), torch.randn(outputs, inputs)
    for count in (2, 3, 16, 70):
        rows = row.expand(count, -1).contiguous()
        for found in (linear(rows, weight), rows @ weight.T.contiguous()):
            assert torch.equal(found, found[:1].expand_as(found))


@pytest.mark.parametrize("inputs", [6, 9, 50, 64, 256])
@pytest.mark.parametrize("count", [1, 2])
def test_an_output_is_the_same_wherever_its_row_stands(inputs: int, count: int) -> None:
    torch.manual_seed(1)
    row, layer = torch.randn(inputs), Outputs(inputs, count)
    for rows in (2, 3, 16, 70):
        found = layer(row.expand(rows, -1).contiguous())
        assert found.shape == (rows, count) and torch.equal(found, found[:1].expand_as(found))
        torch.testing.assert_close(found[0], layer.weight @ row + layer.bias)


@pytest.mark.parametrize(
    ("name", "usual", "own"),
    [("MKL_CBWR", "AUTO,STRICT", "COMPATIBLE"), ("GOMP_SPINCOUNT", "10000", "7")],
)
def test_modes_of_libraries_are_set_unless_the_user_chose_one(
    name: str, usual: str, own: str
) -> None:
    others = {key: value for key, value in os.environ.items() if key != name}
    for given, expected in (({}, usual), ({name: own}, own)):
        found = subprocess.run(
            [sys.executable, "-c", f"import bitextfilter, os; print(os.environ['{name}'])"],
            env={**others, **given},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        assert found.stdout.strip() == expected
