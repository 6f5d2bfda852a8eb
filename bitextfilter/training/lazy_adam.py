"""Adam that leaves alone the vectors of tokens that a mini-batch does not hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.adam import adam

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
