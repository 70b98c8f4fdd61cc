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
        return orthogonal(p.grad.lerp(mean, momentum).flatten(1)[None], self.dtype)[0]


def orthogonal(matrices: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """(n, rows, columns), near enough to U V^T of their singular value decompositions. Zeros around a matrix stay, and change nothing in it."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.transpose(1, 2) if tall else matrices).to(dtype)
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.transpose(1, 2)
        x = a * x + (b * square + c * (square @ square)) @ x
    return (x.transpose(1, 2) if tall else x).float()


class Muons:
    """Muon for many matrices: all of up to ROWS x COLUMNS at once, so that a GPU has something to do. Takes the same steps."""

    ROWS, COLUMNS = 256, 1280

    def __init__(self, parameters: list[torch.nn.Parameter], dtype: torch.dtype, momentum: float = 0.95, weight_decay: float = 1e-2):
        self.dtype, self.momentum, self.weight_decay = dtype, momentum, weight_decay
        alike = [p for p in parameters if self._fits(p)]
        others = [p for p in parameters if not self._fits(p)]
        self.stacks = [_Stack(alike, self.ROWS, self.COLUMNS), *(_Stack([p], *sorted(p.flatten(1).shape)) for p in others)]

    def _fits(self, p: torch.nn.Parameter) -> bool:
        rows, columns = sorted(p.flatten(1).shape)
        return rows <= self.ROWS and columns <= self.COLUMNS

    @torch.no_grad()
    def step(self, rate: float):
        for stack in self.stacks:
            update = stack.update(self.momentum, self.dtype)
            torch._foreach_mul_(stack.matrices, 1 - rate * self.weight_decay)
            torch._foreach_add_(stack.matrices, update, alpha=-rate)


class _Stack:
    """Matrices in (n, rows, columns), each in a corner, on its side where it is tall."""

    def __init__(self, parameters: list[torch.nn.Parameter], rows: int, columns: int):
        self.parameters = parameters
        self.matrices = [p.detach().view(len(p), -1) for p in parameters]
        self.gradient = torch.zeros(len(parameters), rows, columns, device=parameters[0].device)
        self.mean = torch.zeros_like(self.gradient)
        sizes = [UPDATE_SIZE * max(matrix.shape) ** 0.5 for matrix in self.matrices]
        self.sizes = torch.tensor(sizes, device=self.gradient.device)[:, None, None]

    def _corners(self, stacked: torch.Tensor) -> list[torch.Tensor]:
        shapes = [matrix.shape for matrix in self.matrices]
        return [one[:r, :c] if r <= c else one[:c, :r].T for one, (r, c) in zip(stacked, shapes, strict=True)]

    def update(self, momentum: float, dtype: torch.dtype) -> list[torch.Tensor]:
        for corner, p in zip(self._corners(self.gradient), self.parameters, strict=True):
            corner.copy_(p.grad.flatten(1))
        self.mean.lerp_(self.gradient, 1 - momentum)
        return self._corners(orthogonal(self.gradient.lerp(self.mean, momentum), dtype) * self.sizes)
