"""`train.py --minutes M [--from CHECKPOINT] [--peak RATE] [--keep-trunk] [--processes N]`: trains on synthesize.py's shards, writes WORK/net.pt every few minutes.

CTC on characters, with CTC on syllables and cross-entropy on tones beside it, and on the spelling of text (reading.py). From nothing, the first eighth of the time
is cross-entropy on a uniform alignment of short utterances: without it CTC stays on its all-blank
plateau for thousands of steps. From a checkpoint it goes on with Muon. What is kept is the moving average of the weights.
"""

import argparse
import copy
import math
import os
import random
import resource
import time
from pathlib import Path

import numpy as np
import torch

from batches import batches, shards_of, texts
from folders import DATA, WORK
from lessons import DEVICE, USE_BFLOAT16, Lessons
from model import Net
from muon import Muon
from progress import error_rate, glimpses
from targets import Targets
from together import ALONE, Together, run

# From nothing; and with Muon, which goes faster from a checkpoint on, but slower into the first hundreds of steps.
BEGINNING_PEAK_RATE, MUON_PEAK_RATE = 2e-3, 1.5e-3
WARM_UP_STEPS = 200
ALIGNED_SHARE = 1 / 8
ALIGNED_FRAMES = 350
WEIGHTS = 1, 0.5, 0.3, 0.5  # of the losses on characters, syllables, tones, and text
SAVE_EVERY_S = 300
# Each has its part of the cores.
PROCESSES = 2 if DEVICE == "cpu" and (os.cpu_count() or 1) > 1 else 1
MOST_MEMORY_BYTES = 12 << 30  # of all processes


@torch.no_grad()
def follow(average: Net, net: Net, step: int, most: float = 0.999):
    """`most`: of the average that is kept from step to step."""
    keep = min(most, step / (step + 10))
    mean, now = ([t for t in of.state_dict().values() if t.is_floating_point()] for of in (average, net))
    torch._foreach_mul_(mean, keep)
    torch._foreach_add_(mean, now, alpha=1 - keep)


def save(average: Net, net: Net):
    partial = WORK / "net.partial"
    torch.save({"average": average.state_dict(), "net": net.state_dict()}, partial)
    partial.rename(WORK / "net.pt")


def learning_rate(peak: float, step: int, done: float) -> float:
    """Up within the first steps, then down along a cosine to nothing when the time is over."""
    return peak * min(1, (step + 1) / WARM_UP_STEPS) * (0.5 + 0.5 * math.cos(math.pi * done)) + 1e-6


def first_net(targets: Targets, stream) -> Net:
    """A new network that knows the mean and the spread of the features."""
    net = Net(*targets.sizes)
    frames = np.concatenate([f for _ in range(20) for _, f in next(stream)]).astype(np.float32)
    net.mean.copy_(torch.from_numpy(frames.mean(0)))
    net.inverse_std.copy_(torch.from_numpy(1 / frames.std(0)))
    return net


def continued_net(targets: Targets, checkpoint: Path) -> Net:
    weights = torch.load(checkpoint, map_location="cpu")["average"]
    net = Net(*targets.sizes)
    fresh = net.state_dict()
    kept = {name: w for name, w in weights.items() if name in fresh and w.shape == fresh[name].shape}
    net.load_state_dict(kept, strict=False)
    print(f"{len(kept)} of {len(fresh)} tensors go on from {checkpoint}, the others are new", flush=True)
    return net


def parts_for_muon(net: Net) -> tuple[list[torch.nn.Parameter], list[torch.nn.Parameter]]:
    """To go on with: Muon for the matrices inside, AdamW for the three heads, for what is looked up row by row, and for what is no matrix."""
    apart = "characters.", "syllables.", "tones.", "spelling.embedding.", "spelling.groups."
    trained = {name: p for name, p in net.named_parameters() if p.requires_grad}
    inside = {name: p for name, p in trained.items() if p.ndim > 1 and not name.startswith(apart)}
    return list(inside.values()), [p for name, p in trained.items() if name not in inside]


def muon_and_adamw(net: Net, together: Together = ALONE) -> list[torch.optim.Optimizer]:
    inside, others = parts_for_muon(net)
    dtype = torch.bfloat16 if USE_BFLOAT16 else torch.float32
    return [Muon(inside, dtype, together), torch.optim.AdamW(others, weight_decay=1e-2)]


def usable(stream, uniform: bool):
    """The batches of more than one utterance; `uniform`: of what can be aligned evenly."""
    for group in stream:
        kept = [u for u in group if u[0] and len(u[1]) < ALIGNED_FRAMES] if uniform else group
        if len(kept) > 1:
            yield kept


def train(together: Together, minutes: float, start_from: Path | None, peak: float, keep_trunk: bool):
    torch.manual_seed(0)
    if DEVICE == "cpu":  # What eats memory shall end this program and not the machine; net.pt is minutes old at most.
        most = MOST_MEMORY_BYTES // together.count
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    torch.set_flush_denormal(True)  # On a CPU a step takes several times longer without.
    rng = random.Random(time.time_ns() if start_from else together.rank)
    targets = Targets(DATA, WORK)
    if together.rank == 0:
        (WORK / "tokens.txt").write_text(targets.text(), encoding="utf-8")
    shards = shards_of(WORK / "train", together)
    targets.pronounce(texts(shards))
    stream = batches(shards, targets.character, rng, together.count)
    net = continued_net(targets, start_from) if start_from else first_net(targets, stream)
    together.start_alike(net)
    torch.manual_seed(together.rank)
    lessons = Lessons(targets, net.mean.clone(), rng, together.count)
    net.to(DEVICE)
    kept = [net.halve1, net.halve2, net.blocks] if keep_trunk else []
    for module in kept:
        module.requires_grad_(False)
    average = copy.deepcopy(net)
    optimizers = muon_and_adamw(net, together) if start_from else [torch.optim.AdamW(net.parameters(), weight_decay=1e-2)]
    watched = glimpses(WORK / "eval", 60) if together.rank == 0 else {}
    print(f"{sum(p.numel() for p in net.parameters()) / 1e6:.1f} M parameters on {DEVICE}", flush=True)
    began = saved = time.monotonic()
    step, shown = 0, [0.0] * len(WEIGHTS)
    while (done := together.agree((time.monotonic() - began) / 60 / minutes)) < 1:
        uniform = not start_from and done < ALIGNED_SHARE
        group = next(usable(stream, uniform))
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = learning_rate(peak, step, done)
        net.train()
        for module in kept:
            module.eval()
        losses = lessons.losses(net, group, uniform)
        net.zero_grad(set_to_none=True)
        sum(weight * loss for weight, loss in zip(WEIGHTS, losses, strict=True)).backward()
        together.mean_gradients(net)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        for optimizer in optimizers:
            optimizer.step()
        step += 1
        if together.rank > 0:
            continue
        follow(average, net, step)
        shown = [old + (0.02 if step > 1 else 1) * (new.item() - old) for old, new in zip(shown, losses, strict=True)]
        if step % 50 == 0:
            passed = (time.monotonic() - began) / 60
            print("step {}, {:.1f} min: characters {:.3f}, syllables {:.3f}, tones {:.3f}, text {:.3f}".format(step, passed, *shown), flush=True)
        if time.monotonic() - saved > SAVE_EVERY_S:
            save(average, net)
            print("error rates %", error_rate(average, targets, watched), flush=True)
            saved = time.monotonic()
    if together.rank == 0:
        save(average, net)
        print("error rates %", error_rate(average, targets, watched), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--from", dest="start_from", type=Path)
    parser.add_argument("--peak", type=float, help="the highest learning rate")
    parser.add_argument("--keep-trunk", action="store_true", help="train only what follows the blocks at 40 ms, and the tone branch")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    arguments = parser.parse_args()
    if arguments.keep_trunk and not arguments.start_from:
        parser.error("--keep-trunk needs --from: a trunk that has learnt nothing would stay like that")
    usual = MUON_PEAK_RATE if arguments.start_from else BEGINNING_PEAK_RATE
    run(arguments.processes, train, arguments.minutes, arguments.start_from, arguments.peak or usual, arguments.keep_trunk)
