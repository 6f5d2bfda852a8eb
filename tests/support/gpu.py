"""The device of tests that may run on a GPU: one that is here, or the processor."""

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
