"""One thread for torch, whoever computes."""

from __future__ import annotations

import threading

import torch

from bitextfilter.models.device import one_torch_thread


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
