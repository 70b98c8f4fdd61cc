"""From shards of features to batches: like lengths together, and disguised anew each time."""

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from features import SMALLEST_ENERGY
from model import DELAY, MEL_BINS
from noise import Noise
from together import ALONE, Together

BATCH_FRAMES = 12000  # of all processes
SHARDS_AT_ONCE = 8
SHORTEST_SILENCE = 30  # frames behind every training utterance's speech
DIGITAL_SILENCE = math.log(SMALLEST_ENERGY)
TAIL = 4 * DELAY  # frames of digital silence, as the server puts them behind
# What disguise draws from, here and for a GPU (pool.py); frames and bins.
MOST_LEVEL, MOST_TILT, EARLY_SHARE = 1.5, 1, 0.4
HOLES, MOST_BINS, MOST_FRAMES, FRAMES_A_HOLE = 2, 12, 14, 16
NEARLY = 0.02  # what float16 makes of it
Utterance = tuple[str, np.ndarray]
"""A text, and its features (frames, 80) in float16 or float32."""


def load_shard(path: Path, known: dict[str, int]) -> list[Utterance]:
    with np.load(path) as shard:
        frames, ends, texts = shard["frames"], np.cumsum(shard["lengths"]), shard["texts"].tolist()
    utterances = zip(texts, np.split(frames, ends[:-1]), strict=True)
    return [(t, f) for t, f in utterances if all(c in known for c in t)]


def shards_of(folder: Path, together: Together = ALONE) -> list[Path]:
    """Each process has shards of its own, where there are enough."""
    found = sorted(folder.glob("*.npz"))
    if not found:
        raise SystemExit(f"no audio in {folder}: run synthesize.py train first")
    return found[together.rank :: together.count] or found


def texts(shards: list[Path]) -> set[str]:
    """All that is said in them."""
    said = set()
    for path in shards:
        with np.load(path) as shard:
            said.update(shard["texts"].tolist())
    return said - {""}


def batches(shards: list[Path], known: dict[str, int], rng: random.Random, processes: int = 1):
    """Endless: utterances of like length together, from a few of the least used shards at a time."""
    used: Counter[Path] = Counter()
    while True:
        order = rng.sample(shards, len(shards))
        chosen = sorted(order, key=lambda s: used[s])[: max(1, SHARDS_AT_ONCE // processes)]
        used.update(chosen)
        pool = [u for s in chosen for u in load_shard(s, known)]
        pool.sort(key=lambda u: len(u[1]) * rng.uniform(0.95, 1.05))
        groups = list(grouped(pool, BATCH_FRAMES // processes))
        rng.shuffle(groups)
        yield from groups
        del pool, groups  # before the next shards are loaded


def grouped(pool: list[Utterance], most_frames: int = BATCH_FRAMES):
    """Batches of at most `most_frames` frames, what is filled up counted too, in the order of the pool."""
    group: list[Utterance] = []
    for utterance in pool:
        longest = max([len(utterance[1]), *(len(f) for _, f in group)])
        if group and longest * (len(group) + 1) > most_frames:
            yield group
            group = []
        group.append(utterance)
    yield group


def pad(group: list[Utterance]) -> tuple[torch.Tensor, torch.Tensor]:
    """(batch, frames, 80) with the digital silence that the server puts behind, and the frames of each."""
    lengths = torch.tensor([len(f) + TAIL for _, f in group])
    longest = (int(lengths.max()) + 7) // 8 * 8
    x = torch.full((len(group), longest, MEL_BINS), DIGITAL_SILENCE)
    for row, (_, frames) in zip(x, group, strict=True):
        row[: len(frames)] = torch.from_numpy(frames.astype(np.float32))
    return x, lengths


def disguise(x: torch.Tensor, lengths: torch.Tensor, mean: torch.Tensor, rng: random.Random, noise: Noise | None = None) -> torch.Tensor:
    """Another level and tilt for each utterance, noise over some, then holes in time and frequency.

    Some recordings end soon after the last word, where the digital silence begins. No other tempo: between frames, low voices do not beat as they do.
    """
    silent = (x < DIGITAL_SILENCE + NEARLY).all(-1)  # at any level
    x = x + torch.empty(len(x), 1, 1).uniform_(-MOST_LEVEL, MOST_LEVEL)
    x += torch.empty(len(x), 1, 1).uniform_(-MOST_TILT, MOST_TILT) * torch.linspace(-1, 1, MEL_BINS)
    x[silent] = DIGITAL_SILENCE
    if noise:
        noise.over(x, (lengths - TAIL).tolist(), rng)
    for utterance, length in zip(x, lengths.tolist(), strict=True):
        early = rng.randint(1, SHORTEST_SILENCE) if rng.random() < EARLY_SHARE else 0
        utterance[length - TAIL - early :] = DIGITAL_SILENCE
        for _ in range(HOLES):
            width = rng.randint(0, MOST_BINS)
            low = rng.randint(0, MEL_BINS - width)
            utterance[:, low : low + width] = mean[low : low + width]
            width = rng.randint(0, min(MOST_FRAMES, length // FRAMES_A_HOLE))
            start = rng.randint(0, length - width)
            utterance[start : start + width] = mean
    return x
