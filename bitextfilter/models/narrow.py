"""Matrix products in bfloat16, for inference on processors that are fast at them."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

__all__ = ["NarrowLinear", "narrow_linear_layers"]


class NarrowLinear(nn.Module):
    """A linear layer whose products are in bfloat16; what comes in and goes out is float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight.detach().bfloat16())
        self.register_buffer("bias", None if bias is None else bias.detach().bfloat16())

    def forward(self, rows: Tensor) -> Tensor:
        """``(..., i)`` → ``(..., o)``."""
        weight, bias = self.get_buffer("weight"), self.bias
        assert bias is None or isinstance(bias, Tensor)
        return functional.linear(rows.bfloat16(), weight, bias).float()


def narrow_linear_layers(network: nn.Module) -> None:
    """Put a :class:`NarrowLinear` in the place of each linear layer: for inference alone."""
    assert not network.training, "there would be nothing to train"
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, NarrowLinear(child.weight, child.bias).eval())
