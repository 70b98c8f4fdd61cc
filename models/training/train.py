"""`train.py --minutes M [--from CHECKPOINT]`: trains on the shards of synthesize.py, writes WORK/net.pt every few minutes.

CTC on characters, with CTC on toneless syllables beside it. From nothing, the first eighth of the time
is cross-entropy on a uniform alignment of short utterances: without it CTC stays on its all-blank
plateau for thousands of steps. What is kept is the moving average of the weights.
"""

import argparse
import copy
import math
import os
import random
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from features import log_mel
from model import MEL_BINS, Net
from syllables import syllable_of
from text import characters, tatoeba
from voices import recorded_words

HERE = Path(__file__).resolve().parent
DATA = Path(os.environ.get("DATA", HERE / "data"))
WORK = Path(os.environ.get("WORK", HERE / "work"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BLANK = "<blk>"
BATCH_FRAMES = 8000
SHARDS_AT_ONCE = 8
PEAK_LEARNING_RATE = 2e-3
WARM_UP_STEPS = 200
ALIGNED_SHARE = 1 / 8
SAVE_EVERY_S = 240


class Targets:
    """Numbers of characters and of their syllables; 0 is the blank of both."""

    def __init__(self):
        sentences, held_out = tatoeba(DATA / "sentences.txt.gz")
        words = recorded_words(DATA / "hsk-words-24k.tar", WORK / "words.pkl")
        alphabet = sorted({c for text in (*sentences, *held_out, *words) for c in characters(text)})
        self.tokens = [BLANK, *alphabet]
        said = syllable_of(alphabet)
        self.inventory = [BLANK, *sorted(set(said.values()))]
        self.character = {c: i for i, c in enumerate(self.tokens)}
        number = {s: i for i, s in enumerate(self.inventory)}
        self.syllable = {c: number[said[c]] for c in alphabet}

    def write(self, path: Path):
        path.write_text("".join(f"{t} {i}\n" for i, t in enumerate(self.tokens)).removesuffix("\n"), encoding="utf-8")


def load_shard(path: Path, known: dict[str, int]) -> list[tuple[str, np.ndarray]]:
    with np.load(path) as shard:
        frames, ends, texts = shard["frames"], np.cumsum(shard["lengths"]), shard["texts"].tolist()
    utterances = zip(texts, np.split(frames, ends[:-1]), strict=True)
    return [(t, f) for t, f in utterances if all(c in known for c in t)]


def batches(known: dict[str, int], rng: random.Random):
    """Endless: utterances of like length together, from a few of the least used shards at a time."""
    used: Counter[Path] = Counter()
    while True:
        shards = sorted((WORK / "train").glob("*.npz"))
        if not shards:
            raise SystemExit(f"no audio in {WORK / 'train'}: run synthesize.py train first")
        rng.shuffle(shards)
        chosen = sorted(shards, key=lambda s: used[s])[:SHARDS_AT_ONCE]
        used.update(chosen)
        pool = [u for s in chosen for u in load_shard(s, known)]
        pool.sort(key=lambda u: len(u[1]) * rng.uniform(0.95, 1.05))
        groups, group = [], []
        for utterance in pool:
            longest = max([len(utterance[1]), *(len(f) for _, f in group)])
            if longest * (len(group) + 1) > BATCH_FRAMES:
                groups.append(group)
                group = []
            group.append(utterance)
        groups.append(group)
        rng.shuffle(groups)
        yield from groups


def pad(group: list[tuple[str, np.ndarray]]) -> tuple[torch.Tensor, torch.Tensor]:
    """(batch, frames, 80), the last frame repeated, and the frames of each."""
    longest = (max(len(f) for _, f in group) + 3) // 4 * 4
    x = np.stack([np.pad(f.astype(np.float32), ((0, longest - len(f)), (0, 0)), "edge") for _, f in group])
    return torch.from_numpy(x), torch.tensor([len(f) for _, f in group])


def disguise(x: torch.Tensor, lengths: torch.Tensor, mean: torch.Tensor, rng: random.Random):
    """Another tempo for the batch, another level and tilt for each utterance, then holes in time and frequency."""
    longest = round(x.shape[1] * rng.uniform(0.88, 1.12) / 4) * 4
    lengths = (lengths * longest / x.shape[1]).long()
    x = F.interpolate(x.transpose(1, 2), longest, mode="linear", align_corners=False).transpose(1, 2).contiguous()
    x += torch.empty(len(x), 1, 1).uniform_(-1.5, 1.5)
    x += torch.empty(len(x), 1, 1).uniform_(-1, 1) * torch.linspace(-1, 1, MEL_BINS)
    for utterance, length in zip(x, lengths.tolist(), strict=True):
        for _ in range(2):
            width = rng.randint(0, 12)
            low = rng.randint(0, MEL_BINS - width)
            utterance[:, low : low + width] = mean[low : low + width]
            width = rng.randint(0, min(14, length // 16))
            start = rng.randint(0, length - width)
            utterance[start : start + width] = mean
    return x, lengths


def ctc(logits: torch.Tensor, steps: torch.Tensor, targets: list[list[int]]) -> torch.Tensor:
    log_probabilities = F.log_softmax(logits.float(), -1).transpose(0, 1)
    flat = torch.tensor([t for target in targets for t in target], device=logits.device)
    sizes = torch.tensor([len(t) for t in targets])
    losses = F.ctc_loss(log_probabilities, flat, steps, sizes, reduction="none", zero_infinity=True)
    return losses.sum() / sizes.sum()


def aligned(logits: torch.Tensor, group, targets: list[list[int]], steps: torch.Tensor) -> torch.Tensor:
    """Cross-entropy on characters spread evenly over the loud part, 80 ms late."""
    truth = torch.zeros(logits.shape[:2], dtype=torch.long)
    weight = torch.ones(logits.shape[:2])
    for i, ((_, frames), target) in enumerate(zip(group, targets, strict=True)):
        level = frames.astype(np.float32).mean(1)
        floor = np.percentile(level, 5)
        loud = np.where(level >= floor + 0.35 * (level.max() - floor))[0]
        start, span = loud[0] / 4, (loud[-1] - loud[0]) / 4
        for n, t in enumerate(target):
            a, b = start + span * (n + 0.15) / len(target), start + span * (n + 1) / len(target)
            truth[i, round(a) + 2 : round(b) + 2] = t
        weight[i, truth[i] == 0] = 0.3
        weight[i, steps[i] :] = 0
    losses = F.cross_entropy(logits.float().transpose(1, 2), truth.to(logits.device), reduction="none")
    return (losses * weight.to(logits.device)).sum() / weight.sum()


def error_rate(net: Net, targets: Targets, sets: dict[str, list[tuple[str, np.ndarray]]]) -> dict[str, float]:
    net.eval()
    rates = {}
    with torch.no_grad():
        for name, utterances in sets.items():
            wrong = total = 0
            for text, frames in utterances:
                best = net(pad([(text, frames)])[0].to(DEVICE))[0][0].argmax(-1).tolist()
                heard = [b for a, b in zip([0, *best], best, strict=False) if b and b != a]
                wrong += distance([targets.character.get(c, -1) for c in text], heard)
                total += len(text)
            rates[name] = round(100 * wrong / total, 2)
    return rates


def distance(a: list[int], b: list[int]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def glimpses(count: int) -> dict[str, list[tuple[str, np.ndarray]]]:
    """A part of the evaluation sets, to watch the training by."""
    sets = {}
    for folder in sorted((WORK / "eval").glob("*/")):
        lines = (folder / "text.tsv").read_text(encoding="utf-8").splitlines()
        sets[folder.name] = []
        for line in lines[:: max(1, len(lines) // count)]:
            name, text = line.split("\t")
            samples = np.frombuffer((folder / name).read_bytes()[44:], "<i2").astype(np.float32) / 32768
            sets[folder.name].append((text, log_mel(samples)))
    return sets


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


def train(minutes: float, start_from: Path | None):
    torch.manual_seed(0)
    torch.set_flush_denormal(True)  # On a CPU a step takes several times longer without.
    rng = random.Random(time.time_ns() if start_from else 0)
    targets = Targets()
    targets.write(WORK / "tokens.txt")
    net = Net(len(targets.tokens), len(targets.inventory))
    stream = batches(targets.character, rng)
    if start_from:
        net.load_state_dict(torch.load(start_from, map_location="cpu")["average"])
    else:
        frames = np.concatenate([f for _ in range(20) for _, f in next(stream)]).astype(np.float32)
        net.mean.copy_(torch.from_numpy(frames.mean(0)))
        net.inverse_std.copy_(torch.from_numpy(1 / frames.std(0)))
    mean = net.mean.clone()
    net.to(DEVICE)
    average = copy.deepcopy(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=PEAK_LEARNING_RATE, weight_decay=1e-2)
    watched = glimpses(100)
    print(f"{sum(p.numel() for p in net.parameters()) / 1e6:.1f} M parameters on {DEVICE}", flush=True)
    began = saved = time.monotonic()
    step, shown, shown_syllables = 0, 0.0, 0.0
    while (done := (time.monotonic() - began) / 60 / minutes) < 1:
        group = next(stream)
        uniform = not start_from and done < ALIGNED_SHARE
        if uniform:
            group = [u for u in group if 0 < len(u[0]) and len(u[1]) < 350]
        if len(group) < 2:
            continue
        optimizer.param_groups[0]["lr"] = (
            PEAK_LEARNING_RATE * min(1, (step + 1) / WARM_UP_STEPS) * (0.5 + 0.5 * math.cos(math.pi * done)) + 1e-6
        )
        x, lengths = pad(group)
        if not uniform:
            x, lengths = disguise(x, lengths, mean, rng)
        steps = lengths // 4
        by_character = [[targets.character[c] for c in text] for text, _ in group]
        by_syllable = [[targets.syllable[c] for c in text] for text, _ in group]
        net.train()
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            logits, syllable_logits = net(x.to(DEVICE))
        if uniform:
            loss = aligned(logits, group, by_character, steps)
            syllable_loss = aligned(syllable_logits, group, by_syllable, steps)
        else:
            loss = ctc(logits, steps, by_character)
            syllable_loss = ctc(syllable_logits, steps, by_syllable)
        optimizer.zero_grad()
        (loss + 0.3 * syllable_loss).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        step += 1
        follow(average, net, step)
        weight = 0.02 if step > 1 else 1
        shown += weight * (loss.item() - shown)
        shown_syllables += weight * (syllable_loss.item() - shown_syllables)
        if step % 50 == 0:
            passed = (time.monotonic() - began) / 60
            print(f"step {step}, {passed:.1f} min: characters {shown:.3f}, syllables {shown_syllables:.3f}", flush=True)
        if time.monotonic() - saved > SAVE_EVERY_S:
            save(average, net)
            print("error rates %", error_rate(average, targets, watched), flush=True)
            saved = time.monotonic()
    save(average, net)
    print("error rates %", error_rate(average, targets, watched), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--from", dest="start_from", type=Path)
    arguments = parser.parse_args()
    train(arguments.minutes, arguments.start_from)
