"""Several processes that train one network: each computes batches of its own, then all take the same step.

On a CPU this beats one process with as many threads: its threads share the matrix products well, and the other half of the work badly.
"""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class Together:
    """One of `count` processes; `rank` 0 is the one that saves and prints. All must call the same methods in the same order."""

    def __init__(self, rank: int, count: int, meeting: Path | None = None):
        self.rank, self.count = rank, count
        self.parent = os.getppid()
        if count > 1:
            dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)

    def start_alike(self, net: torch.nn.Module):
        """Everybody's network becomes that of rank 0."""
        if self.count > 1:
            for tensor in net.state_dict().values():
                dist.broadcast(tensor, 0)

    def agree(self, value: float) -> float:
        """What rank 0 says, so that nobody stops a step before the others. Where the program that started them is gone, all end."""
        if self.count == 1:
            return value
        if os.getppid() != self.parent:
            raise SystemExit("the program that started this process is gone")
        said = torch.tensor(value, dtype=torch.float64)
        dist.broadcast(said, 0)
        return said.item()

    def add(self, tensors: list[torch.Tensor]):
        """Each tensor becomes the sum of everybody's."""
        if self.count == 1:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(flat)
        for tensor, total in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def mean_gradients(self, net: torch.nn.Module):
        gradients = [p.grad for p in net.parameters() if p.grad is not None]
        self.add(gradients)
        if self.count > 1:
            torch._foreach_div_(gradients, self.count)


ALONE = Together(0, 1)


def _one(rank: int, count: int, threads: int, meeting: Path, work: Callable[..., None], arguments: tuple):
    torch.set_num_threads(threads)
    work(Together(rank, count, meeting), *arguments)


def run(count: int, work: Callable[..., None], *arguments):
    """`work(together, *arguments)` in `count` processes that divide the cores; in this one when `count` is 1."""
    if count == 1:
        work(ALONE, *arguments)
        return
    threads = max(1, (os.cpu_count() or 1) // count)
    # The libraries for matrices read this when they are loaded, which is before `_one`.
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(_one, (count, threads, Path(folder) / "meeting", work, arguments), count)
