"""`tones.py --minutes M --from CHECKPOINT [--utterances N]`: trains the tone branch alone, writes WORK/net.pt.

Where the characters of N utterances are heard, the checkpoint says once. After that nothing but this small part of the network is computed,
and it hears six times as much in a minute as with train.py (2.0 million frames and 0.34, measured with the ninth model and one process).
"""

import argparse
import copy
import random
import time
from pathlib import Path

import torch

from batches import Utterance, disguise, grouped, load_shard, pad, shards_of, texts
from folders import DATA, WORK
from losses import heard_at, of_tones
from model import DELAY, Net
from targets import Targets
from train import DEVICE, continued_net, follow, learning_rate, muon_and_adamw, save

PEAK_RATE = 1.5e-3
# Of the characters; where the network errs more often, it is not believed about the places either.
MOST_WRONG = 0.5
Lesson = tuple[list[Utterance], list[list[int]]]
"""A batch, and for each of its utterances the frames in which the characters are heard."""


@torch.no_grad()
def located(net: Net, targets: Targets, pool: list[Utterance]):
    """Lessons, of the utterances that the network hears well enough."""
    net.eval()
    for group in grouped(sorted(pool, key=lambda utterance: len(utterance[1]))):
        x, lengths = pad(group)
        likeliest = net(x.to(DEVICE))[0].argmax(-1).tolist()
        lesson: Lesson = [], []
        for (text, frames), row, length in zip(group, likeliest, lengths.tolist(), strict=True):
            at = heard_at(row[: length // 4], len(text))
            if not text or at is None or targets.tones(text) is None:
                continue
            wrong = sum(row[i + DELAY] != targets.character[c] for i, c in zip(at, text, strict=True))
            if wrong <= MOST_WRONG * len(text):
                lesson[0].append((text, frames))
                lesson[1].append(at)
        if len(lesson[0]) > 1:
            yield lesson


def lessons(net: Net, targets: Targets, utterances: int, rng: random.Random) -> list[Lesson]:
    shards = shards_of(WORK / "train")
    rng.shuffle(shards)
    found: list[Lesson] = []
    count = 0
    for shard in shards:
        found += located(net, targets, load_shard(shard, targets.character))
        count = sum(len(group) for group, _ in found)
        print(f"{count} utterances", flush=True)
        if count >= utterances:
            break
    return found


def train_tones(minutes: float, start_from: Path, utterances: int):
    torch.manual_seed(0)
    torch.set_flush_denormal(True)
    rng = random.Random(0)
    targets = Targets(DATA, WORK)
    (WORK / "tokens.txt").write_text(targets.text(), encoding="utf-8")
    targets.pronounce(texts(shards_of(WORK / "train")))
    net = continued_net(targets, start_from).to(DEVICE).requires_grad_(False)
    to_learn = lessons(net, targets, utterances, rng)
    if not to_learn:
        print("the checkpoint hears no utterance well enough to say where its characters are: it stays as it is", flush=True)
        save(net, net)
        return
    net.pitch.requires_grad_(True).train()
    net.tones.requires_grad_(True)
    optimizers = muon_and_adamw(net)
    average = copy.deepcopy(net)
    mean = net.mean.cpu()
    began = time.monotonic()
    step, shown, order = 0, 0.0, []
    while (done := (time.monotonic() - began) / 60 / minutes) < 1:
        order = order or rng.sample(to_learn, len(to_learn))
        group, heard = order.pop()
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = learning_rate(PEAK_RATE, step, done)
        x = disguise(*pad(group), mean, rng).to(DEVICE)
        logits = net.tones(net.pitch((x - net.mean) * net.inverse_std))
        loss = of_tones(logits, heard, [targets.tones(text) for text, _ in group])
        net.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        step += 1
        follow(average, net, step)
        shown += (0.02 if step > 1 else 1) * (loss.item() - shown)
        if step % 100 == 0:
            print(f"step {step}, {(time.monotonic() - began) / 60:.1f} min: tones {shown:.3f}", flush=True)
    save(average, net)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--from", dest="start_from", type=Path, required=True)
    parser.add_argument("--utterances", type=int, default=25000)
    arguments = parser.parse_args()
    train_tones(arguments.minutes, arguments.start_from, arguments.utterances)
