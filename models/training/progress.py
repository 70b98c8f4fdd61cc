"""Character error rates on a part of the evaluation sets, to watch the training by. `npm run eval` is what counts."""

from pathlib import Path

import numpy as np
import torch

from batches import Utterance, pad
from features import log_mel
from model import Net
from targets import Targets


def error_rate(net: Net, targets: Targets, sets: dict[str, list[Utterance]]) -> dict[str, float]:
    net.eval()
    device = net.mean.device
    rates = {}
    with torch.no_grad():
        for name, utterances in sets.items():
            wrong = total = 0
            for text, frames in utterances:
                best = net(pad([(text, frames)])[0].to(device))[0][0].argmax(-1).tolist()
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


def glimpses(folder: Path, count: int) -> dict[str, list[Utterance]]:
    """A part of the evaluation sets, to watch the training by."""
    sets = {}
    for folder in sorted(folder.glob("*/")):
        lines = (folder / "text.tsv").read_text(encoding="utf-8").splitlines()
        sets[folder.name] = []
        for line in lines[:: max(1, len(lines) // count)]:
            name, text = line.split("\t")
            samples = np.frombuffer((folder / name).read_bytes()[44:], "<i2").astype(np.float32) / 32768
            sets[folder.name].append((text, log_mel(samples)))
    return sets
