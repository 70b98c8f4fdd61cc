"""`train.py --minutes M [--from CHECKPOINT] [--peak RATE] [--keep-trunk] [--processes N]`: trains on synthesize.py's shards, writes WORK/net.pt every few minutes.

CTC on characters, with CTC on syllables and cross-entropy on tones beside it. From nothing, the first eighth of the time
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

from batches import Utterance, batches, disguise, pad, shards_of, texts
from losses import aligned, ctc, heard_at, of_tones
from model import DELAY, Net
from muon import Muon
from progress import error_rate, glimpses
from targets import Targets
from together import ALONE, Together, run

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DATA", HERE / "data"))
WORK = Path(os.environ.get("WORK", HERE / "work"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# Where the processor has no instructions for it, bfloat16 is slower than float32.
USE_BFLOAT16 = DEVICE == "cuda" or "avx512_bf16" in Path("/proc/cpuinfo").read_text()
# From nothing; and with Muon, which goes faster from a checkpoint on, but slower into the first hundreds of steps.
BEGINNING_PEAK_RATE, MUON_PEAK_RATE = 2e-3, 1.5e-3
WARM_UP_STEPS = 200
ALIGNED_SHARE = 1 / 8
ALIGNED_FRAMES = 350
LATE = 2  # frames of 40 ms after its sound that the alignment puts a syllable
SYLLABLE_WEIGHT, TONE_WEIGHT = 0.5, 0.3
SAVE_EVERY_S = 300
# Each has its part of the cores.
PROCESSES = 2 if DEVICE == "cpu" and (os.cpu_count() or 1) > 1 else 1
MOST_MEMORY_BYTES = 12 << 30  # of all processes


@torch.no_grad()
def follow(average: Net, net: Net, step: int):
    keep = min(0.999, step / (step + 10))
    for a, b in zip(average.state_dict().values(), net.state_dict().values(), strict=True):
        if a.is_floating_point():
            a.lerp_(b, 1 - keep)


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


def muon_and_adamw(net: Net, together: Together = ALONE) -> list[torch.optim.Optimizer]:
    """To go on with: Muon for the matrices inside, AdamW for the three heads, for what is looked up row by row, and for what is no matrix."""
    apart = "characters.", "syllables.", "tones.", "spelling.embedding.", "spelling.groups."
    trained = {name: p for name, p in net.named_parameters() if p.requires_grad}
    inside = {name: p for name, p in trained.items() if p.ndim > 1 and not name.startswith(apart)}
    others = [p for name, p in trained.items() if name not in inside]
    dtype = torch.bfloat16 if USE_BFLOAT16 else torch.float32
    return [Muon(inside.values(), dtype, together), torch.optim.AdamW(others, weight_decay=1e-2)]


def usable(stream, uniform: bool):
    """The batches of more than one utterance; `uniform`: of what can be aligned evenly."""
    for group in stream:
        kept = [u for u in group if u[0] and len(u[1]) < ALIGNED_FRAMES] if uniform else group
        if len(kept) > 1:
            yield kept


def losses(net: Net, group: list[Utterance], uniform: bool, targets: Targets, mean: torch.Tensor, rng: random.Random):
    """(of the characters, of the syllables, of the tones) of one batch."""
    x, lengths = pad(group)
    if not uniform:
        x = disguise(x, lengths, mean, rng)
    with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=USE_BFLOAT16):
        heads = net(x.to(DEVICE))
    steps = lengths // 4
    spelt = [[targets.character[c] for c in text] for text, _ in group]
    said = {i: s for i, (text, _) in enumerate(group) if (s := targets.syllables(text)) is not None}
    known, sounds = list(said), list(said.values())
    best = [row[:end] for row, end in zip(heads[0].argmax(-1).tolist(), steps.tolist(), strict=True)]
    heard = [heard_at(written, len(text)) for written, (text, _) in zip(best, group, strict=True)]
    of_pitch = of_tones(heads[2], heard, [targets.tones(text) for text, _ in group])
    if not uniform:
        return ctc(heads[0], steps, spelt), ctc(heads[1][known], steps[known], sounds), of_pitch
    of_characters = aligned(heads[0], group, spelt, steps, LATE + DELAY)
    return of_characters, aligned(heads[1][known], [group[i] for i in known], sounds, steps[known], LATE), of_pitch


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
    mean = net.mean.clone()
    net.to(DEVICE)
    kept = [net.halve1, net.halve2, net.blocks] if keep_trunk else []
    for module in kept:
        module.requires_grad_(False)
    average = copy.deepcopy(net)
    optimizers = muon_and_adamw(net, together) if start_from else [torch.optim.AdamW(net.parameters(), weight_decay=1e-2)]
    watched = glimpses(WORK / "eval", 60) if together.rank == 0 else {}
    print(f"{sum(p.numel() for p in net.parameters()) / 1e6:.1f} M parameters on {DEVICE}", flush=True)
    began = saved = time.monotonic()
    step, shown = 0, [0.0] * 3
    while (done := together.agree((time.monotonic() - began) / 60 / minutes)) < 1:
        uniform = not start_from and done < ALIGNED_SHARE
        group = next(usable(stream, uniform))
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = learning_rate(peak, step, done)
        net.train()
        for module in kept:
            module.eval()
        of_characters, of_syllables, of_pitch = losses(net, group, uniform, targets, mean, rng)
        net.zero_grad(set_to_none=True)
        (of_characters + SYLLABLE_WEIGHT * of_syllables + TONE_WEIGHT * of_pitch).backward()
        together.mean_gradients(net)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        for optimizer in optimizers:
            optimizer.step()
        step += 1
        if together.rank > 0:
            continue
        follow(average, net, step)
        now = of_characters.item(), of_syllables.item(), of_pitch.item()
        shown = [old + (0.02 if step > 1 else 1) * (new - old) for old, new in zip(shown, now, strict=True)]
        if step % 50 == 0:
            passed = (time.monotonic() - began) / 60
            print("step {}, {:.1f} min: characters {:.3f}, syllables {:.3f}, tones {:.3f}".format(step, passed, *shown), flush=True)
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
    parser.add_argument("--keep-trunk", action="store_true", help="train only what follows the blocks at 40 ms, and the tones' way")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    arguments = parser.parse_args()
    if arguments.keep_trunk and not arguments.start_from:
        parser.error("--keep-trunk needs --from: a trunk that has learnt nothing would stay like that")
    usual = MUON_PEAK_RATE if arguments.start_from else BEGINNING_PEAK_RATE
    run(arguments.processes, train, arguments.minutes, arguments.start_from, arguments.peak or usual, arguments.keep_trunk)
