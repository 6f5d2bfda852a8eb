"""What a training run needs to go on exactly where it stood: kept as safetensors and JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bitextfilter.errors import ModelError, NotFoundError
from bitextfilter.models.checkpoint import load_into, load_tensors, save_tensors

TENSORS = "state.safetensors"
PROGRESS = "state.json"


@dataclass
class Progress:
    """How far a run is."""

    update: int = 0
    best: float | None = None
    """Lowest validation error so far."""
    stale: int = 0
    """Validations since the best."""
    history: list[dict[str, float]] = field(default_factory=list)
    """A row a validation: update, error, mean of each objective since the last one."""
    sums: dict[str, float] = field(default_factory=dict)
    """Each loss, summed over the updates since the last validation."""

    def losses(self) -> dict[str, float]:
        """The mean of each loss since the last validation."""
        since = self.update - (self.history[-1]["update"] if self.history else 0)
        return {name: total / since for name, total in self.sums.items()}


def save_state(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, progress: Progress
) -> None:
    """Write the state, whole or not at all: the progress file is renamed into place last.

    The tensors go into one of two files in turn, and the progress file names the one it
    belongs to, so a run killed while saving finds its previous state.
    """
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, values in optimiser.state_dict()["state"].items():
        tensors |= {
            f"optimiser.{index}.{name}": torch.as_tensor(value) for name, value in values.items()
        }
    tensors["random"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random_cuda"] = torch.cuda.get_rng_state()
    number = 1 - _last_saved(folder)
    save_tensors(folder / f"{number}.{TENSORS}", tensors)
    draft = folder / f".{PROGRESS}"
    draft.write_text(json.dumps({"tensors": number, **asdict(progress)}), encoding="utf-8")
    draft.rename(folder / PROGRESS)


def _last_saved(folder: Path) -> int:
    """Which of the two files of tensors belongs to the progress file."""
    try:
        return int(json.loads((folder / PROGRESS).read_text(encoding="utf-8"))["tensors"])
    except (OSError, ValueError, KeyError, TypeError):
        return 1


def load_state(folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer) -> Progress:
    """Fill model, optimiser and random state; returns the progress.

    Raises:
        NotFoundError: no state there.
        ModelError: it is damaged or belongs to another network.
    """
    try:
        values: dict[str, Any] = json.loads((folder / PROGRESS).read_text(encoding="utf-8"))
        path = folder / f"{values.pop('tensors')}.{TENSORS}"
        progress = Progress(**values)
    except FileNotFoundError:
        raise NotFoundError(f"{folder}: no training state to resume") from None
    except (ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{folder / PROGRESS}: damaged training state: {error}") from error
    tensors = load_tensors(path)
    random, random_cuda = tensors.pop("random"), tensors.pop("random_cuda", None)
    weights = {n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")}
    load_into(model, weights, path)
    state: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimiser."):
            _, index, key = name.split(".", 2)
            state.setdefault(int(index), {})[key] = tensor
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    torch.set_rng_state(random)
    if random_cuda is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(random_cuda)
    return progress
