"""Muon: what the momentum of a weight matrix says, made orthogonal, so that no direction of it is learnt slower than the others."""

import torch

from together import ALONE, Together

# Keller Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024: a quintic Newton-Schulz iteration.
COEFFICIENTS = 3.4445, -4.7750, 2.0315
ITERATIONS = 5
# Liu et al., Muon is Scalable for LLM Training, arXiv:2502.16982: updates as large as AdamW's, so that both take one learning rate.
UPDATE_SIZE = 0.2


class Muon(torch.optim.Optimizer):
    """For tensors of two dimensions and more; all but the first are one side of the matrix. `dtype` is what the machine multiplies fast."""

    def __init__(self, parameters, dtype: torch.dtype, together: Together = ALONE, momentum: float = 0.95, weight_decay: float = 1e-2):
        super().__init__(parameters, {"lr": 0.0, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype
        self.together = together

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            updates = [self._update(i, p, group["momentum"]) for i, p in enumerate(group["params"])]
            self.together.add(updates)
            for p, update in zip(group["params"], updates, strict=True):
                p.mul_(1 - group["lr"] * group["weight_decay"])
                size = UPDATE_SIZE * max(update.shape) ** 0.5
                p.add_(update.view_as(p), alpha=-group["lr"] * size)

    def _update(self, number: int, p: torch.Tensor, momentum: float) -> torch.Tensor:
        """The processes share the work: nothing where it is another's turn."""
        mean = self.state[p].setdefault("mean", torch.zeros_like(p))
        mean.lerp_(p.grad, 1 - momentum)
        if number % self.together.count != self.together.rank:
            return torch.zeros_like(p).flatten(1)
        return orthogonal(p.grad.lerp(mean, momentum).flatten(1), self.dtype)


def orthogonal(matrix: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Near enough to U V^T of its singular value decomposition."""
    a, b, c = COEFFICIENTS
    x = (matrix.T if matrix.shape[0] > matrix.shape[1] else matrix).to(dtype)
    x = x / (x.norm() + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.T
        x = a * x + (b * square + c * (square @ square)) @ x
    return (x.T if matrix.shape[0] > matrix.shape[1] else x).float()
