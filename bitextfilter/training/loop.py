"""The training loop: updates, validations, saved states, resumed runs, of every network.

A :class:`Learner` brings the network and its losses, a :class:`Stream` the mini-batches. The
adversarial mapping alone stands apart: its two optimisers learn against each other
(:mod:`bitextfilter.papers.mapping`).

``LazyAdam`` leaves alone the vectors of tokens that a mini-batch does not hold.
"""

from __future__ import annotations

import copy
import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.adam import adam

from bitextfilter.errors import InputError, ModelError, NotFoundError
from bitextfilter.io.drafts import draft, put
from bitextfilter.io.files import naming_output
from bitextfilter.io.records import file_digest, read_record, write_record
from bitextfilter.models.checkpoint import load_into, load_tensors, save_tensors
from bitextfilter.models.device import trains_in_bfloat16
from bitextfilter.training.settings import LoopSettings

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class LazyAdam(Optimizer):
    """Adam (Kingma & Ba 2015, algorithm 1) for sparse and dense gradients alike.

    Of a sparse gradient only the rows that stand in it are updated, and their moments with
    them, as torch's SparseAdam does; one that is not sparse is treated as by torch's Adam. A
    table of word vectors then costs by the rows in the mini-batch, not by its size.
    """

    def __init__(
        self, parameters: Iterable[Tensor], learning_rate: float, whole: Iterable[Tensor] = ()
    ) -> None:
        """*whole*: parameters of which all rows are updated, by sparse gradients, too."""
        # Fused: the count of steps is on the parameter's device, after loading too.
        super().__init__(parameters, {"lr": learning_rate, "fused": True})
        self._dense = {id(parameter): torch.zeros_like(parameter) for parameter in whole}
        """Places for the gradients of these; 0 between the steps."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group["lr"])

    def _update(self, parameter: Tensor, learning_rate: float) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        assert parameter.grad is not None
        dense = self._dense.get(id(parameter))
        if not parameter.grad.is_sparse:
            _update_all(parameter, parameter.grad, state, learning_rate)
        elif dense is None:
            _update_rows(parameter, state, learning_rate)
        else:
            gradient = parameter.grad.coalesce()
            rows = gradient.indices()[0]
            dense[rows] = gradient.values()
            _update_all(parameter, dense, state, learning_rate)
            dense[rows] = 0


def _update_rows(parameter: Tensor, state: dict[str, Tensor], learning_rate: float) -> None:
    assert parameter.grad is not None
    gradient = parameter.grad.coalesce()
    rows, values = gradient.indices()[0], gradient.values()
    state["step"] += 1
    mean, square = state["exp_avg"], state["exp_avg_sq"]
    new_mean = mean[rows].lerp_(values, 1 - BETAS[0])
    new_square = square[rows].mul_(BETAS[1]).addcmul_(values, values, value=1 - BETAS[1])
    mean[rows], square[rows] = new_mean, new_square
    corrections = [1 - beta ** state["step"].item() for beta in BETAS]
    step = new_mean / (new_square / corrections[1]).sqrt_().add_(EPSILON)
    parameter.index_add_(0, rows, step, alpha=-learning_rate / corrections[0])


def _update_all(
    parameter: Tensor, gradient: Tensor, state: dict[str, Tensor], learning_rate: float
) -> None:
    adam(
        [parameter],
        [gradient],
        [state["exp_avg"]],
        [state["exp_avg_sq"]],
        [],
        [state["step"]],
        fused=True,
        amsgrad=False,
        beta1=BETAS[0],
        beta2=BETAS[1],
        lr=learning_rate,
        weight_decay=0.0,
        eps=EPSILON,
        maximize=False,
    )


def clip_norm(parameters: Iterable[Tensor], largest: float) -> None:
    """Scale all gradients down so that the norm of them together is at most ``largest``.

    As ``torch.nn.utils.clip_grad_norm_``, for sparse gradients too (Pascanu et al. 2013).
    """
    values = []
    for parameter in parameters:
        if (gradient := parameter.grad) is None:
            continue
        if gradient.is_sparse:
            parameter.grad = gradient = gradient.coalesce()
        values.append(gradient.values() if gradient.is_sparse else gradient)
    norms = [torch.linalg.vector_norm(value.detach()).item() for value in values]
    total = math.hypot(*norms)
    if total > largest:
        for value in values:
            value.mul_(largest / (total + 1e-6))


class Learner(nn.Module, ABC):
    """A network with its losses, and all else that only its training needs."""

    network: nn.Module
    """Validated and kept."""
    settings: LoopSettings
    whole_layers = True
    """Whether training in bfloat16 computes whole layers in it, not products alone."""

    def __init__(self, network: nn.Module, settings: LoopSettings) -> None:
        super().__init__()
        self.network, self.settings = network, settings

    @property
    def narrow(self) -> bool:
        """Whether it trains in bfloat16."""
        return self.settings.precision == "bfloat16" and trains_in_bfloat16(self.device)

    @property
    def device(self) -> torch.device:
        """The device that the network lies on."""
        return next(self.parameters()).device

    @abstractmethod
    def forward(self, batch: Any) -> dict[str, Tensor]:
        """The losses of a mini-batch by name, as scalars."""

    def weighted(self, losses: dict[str, Tensor]) -> Tensor:
        """The one number to minimise: the sum of the losses, unless overridden."""
        return torch.stack(list(losses.values())).sum()

    def parts(self, batch: Any) -> Sequence[tuple[Any, float]]:
        """Cut a mini-batch into parts that memory can hold, with their shares of the losses.

        The shares sum to 1; the losses of the whole are the weighted means of the parts'.
        """
        return [(batch, 1.0)]

    def gradients(self, batch: Any) -> dict[str, float]:
        """Add the gradients of a mini-batch's loss to the parameters; returns the losses."""
        losses: Counter[str] = Counter()
        for part, share in self.parts(batch):
            losses.update(self.backward(part, share))
        return dict(losses)

    def backward(self, part: Any, share: float) -> dict[str, float]:
        """Add the gradients of *share* times the loss of a part; returns the losses times it."""
        narrow = self.whole_layers and self.narrow
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=narrow):
            losses = self(part)
        (self.weighted(losses) * share).backward()  # type: ignore[no-untyped-call]
        return {name: share * loss.item() for name, loss in losses.items()}

    def optimiser(self) -> torch.optim.Optimizer:
        """Adam, Adam for sparse gradients, or plain SGD as in Kim et al. 2019."""
        rate, kind = self.settings.learning_rate, self.settings.optimiser
        if kind == "sgd":
            return torch.optim.SGD(self.parameters(), lr=rate)
        if kind == "lazy-adam":
            return LazyAdam(self.parameters(), rate)
        return torch.optim.Adam(self.parameters(), lr=rate, fused=True)


TENSORS = "state.safetensors"
PROGRESS = "state.json"
_BEST = "best.safetensors"
"""The network of the lowest error, where there is no model folder for it."""


@dataclass
class Progress:
    """Course of a run so far."""

    update: int = 0
    best: float | None = None
    """Lowest validation error so far."""
    stale: int = 0
    """Validations since the best."""
    history: list[dict[str, float]] = field(default_factory=list)
    """A row a validation: update, error, mean of each objective since the last one."""
    sums: dict[str, float] = field(default_factory=dict)
    """Each loss, summed over the updates since the last validation."""

    @property
    def best_update(self) -> int:
        """The update that the kept network comes from: of equal errors the last."""
        return int(max(row["update"] for row in self.history if row["error"] == self.best))

    def losses(self) -> dict[str, float]:
        """The mean of each loss since the last validation."""
        since = self.update - (self.history[-1]["update"] if self.history else 0)
        return {name: total / since for name, total in self.sums.items()}


def save_state(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, progress: Progress
) -> None:
    """Write the state, whole or not at all: the progress file is put in its place last.

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
    try:
        last = int(read_record(folder / PROGRESS)["tensors"])
    except (FileNotFoundError, InputError):
        last = 1
    number = 1 - last
    path = folder / f"{number}.{TENSORS}"
    with naming_output(path), draft(folder / TENSORS, folder=True) as new:
        save_tensors(new / TENSORS, tensors)
        put(new / TENSORS, path)
    known = {"tensors": number, "digest": file_digest(path), **asdict(progress)}
    write_record(folder / PROGRESS, known)


def load_state(folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer) -> Progress:
    """Fill model, optimiser and random state; returns the progress.

    Raises:
        NotFoundError: no state there.
        InputError: its record is damaged.
        ModelError: its tensors are damaged or belong to another network.
    """
    try:
        values = read_record(folder / PROGRESS, "train again without --resume")
    except FileNotFoundError:
        raise NotFoundError(f"{folder}: no training state to resume") from None
    path = folder / f"{values.pop('tensors')}.{TENSORS}"
    if values.pop("digest") != file_digest(path):
        raise ModelError(f"{path}: damaged; train again without --resume")
    progress, tensors = Progress(**values), load_tensors(path)
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


SAVE_SECONDS = 300.0
"""The state is saved after this time without a validation, too."""


@dataclass(frozen=True)
class Stream:
    """A source of mini-batches."""

    updates: int
    """Updates of a run."""
    batches: Callable[[int], Iterator[Any]]
    """Endless mini-batches on the network's device, from the given one on."""
    interval: int
    """Updates between validations."""
    block: int = 1
    """Mini-batches that are made together: between them no state is saved."""


@dataclass(frozen=True)
class Hooks:
    """Callbacks of a run."""

    validate: Callable[[Any], float]
    """Error of a network (lower is better); it must not touch torch's random state."""
    keep: Callable[[Any, Progress], None]
    """Called with a network that has the lowest error so far."""
    report: Callable[[Progress, int], None] = lambda *_: None
    """Called after every update, and its validation if it had one, with the run's updates."""


def start_torch(seed: int, threads: int) -> None:
    """Seed torch and give it its threads, before a network is made."""
    torch.manual_seed(seed)
    torch.set_num_threads(threads)


def learn(
    model: Learner, stream: Stream, hooks: Hooks, folder: Path | None = None, resume: bool = False
) -> Progress:
    """Train to the end of the run or until validation stops improving.

    Args:
        model: the network to train, in place, on the device it lies on.
        stream: its mini-batches.
        hooks: validation, keeping the best network, progress.
        folder: an existing folder for the state; with ``resume`` it is read first. None: no
            state is saved.

    Raises:
        ModelError: a loss is not a number; the last state is from before that.
    """
    settings, updates = model.settings, stream.updates
    optimiser, progress = model.optimiser(), Progress()
    if resume and folder is not None:
        progress = load_state(folder, model, optimiser)
    saved = time.monotonic()
    for batch in stream.batches(progress.update):
        if progress.update >= updates or 0 < settings.patience <= progress.stale:
            break
        losses = update(model, optimiser, batch, (progress.update, updates))
        progress.update += 1
        for name, value in losses.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + value
        validates = progress.update % stream.interval == 0 or progress.update == updates
        if validates:
            _validate(model, hooks, progress)
        late = time.monotonic() - saved >= SAVE_SECONDS and progress.update % stream.block == 0
        if folder is not None and (validates or late):
            save_state(folder, model, optimiser, progress)
            saved = time.monotonic()
        hooks.report(progress, updates)
    return progress


class Course(NamedTuple):
    """What goes with a training in memory."""

    report: Callable[[Progress, int], None] = lambda *_: None
    """See :class:`Hooks`."""
    state: Path | None = None
    """An existing folder for the state, by which a training goes on; None: none is saved."""


def learn_in_memory(
    model: Learner,
    stream: Stream,
    validate: Callable[[Any], float],
    course: Course = Course(),  # noqa: B008  # it cannot change
    last: bool = False,
) -> Progress:
    """Train as :func:`learn` does, and leave the network as after its best; no folder is made.

    With *last*, as after its last update. An interrupted training goes on if it left a state.
    """
    best: dict[str, Tensor] = {}
    kept = None if course.state is None else course.state / _BEST

    def keep(network: nn.Module, _: Progress) -> None:
        if last:
            return
        if kept is None:
            best.update(copy.deepcopy(network.state_dict()))
        else:
            with draft(kept) as new:
                save_tensors(new, network.state_dict())
                put(new, kept)

    resume = course.state is not None and (course.state / PROGRESS).is_file()
    progress = learn(model, stream, Hooks(validate, keep, course.report), course.state, resume)
    if not last:
        model.network.load_state_dict(best if kept is None else load_tensors(kept))
    model.eval()
    return progress


def update(
    model: Learner, optimiser: torch.optim.Optimizer, batch: Any, position: tuple[int, int]
) -> dict[str, float]:
    """One step down the gradient; ``position`` is (update, updates). Returns the losses."""
    settings = model.settings
    for group in optimiser.param_groups:
        group["lr"] = settings.learning_rate_at(*position)
    model.train()
    optimiser.zero_grad()
    losses = model.gradients(batch)
    if not all(map(math.isfinite, losses.values())):
        raise ModelError(
            f"the loss is not a number at update {position[0] + 1}; lower the learning rate"
        )
    if settings.clip:
        clip_norm(model.parameters(), settings.clip)
    optimiser.step()
    return losses


def _validate(model: Learner, hooks: Hooks, progress: Progress) -> None:
    """Validate the network, add a row to the history, and keep the network if it is the best.

    Of equally good ones the last is kept, but only a better one counts as progress.
    """
    losses, progress.sums = progress.losses(), {}
    model.eval()
    error = hooks.validate(model.network)
    progress.history.append({"update": progress.update, "error": error, **losses})
    best = math.inf if progress.best is None else progress.best
    progress.stale = 0 if error < best else progress.stale + 1
    if error <= best:
        progress.best = error
        hooks.keep(model.network, progress)
