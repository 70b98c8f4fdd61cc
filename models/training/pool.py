"""All that was spoken so far, on the device, and batches of it: put together, disguised and turned into features there, anew each time.

What batches.py, pauses.py and noise.py do to one utterance after the other on a CPU, for all utterances of a batch at once.
"""

import math
import random
from typing import NamedTuple

import numpy as np
import torch

from batches import (
    DIGITAL_SILENCE, EARLY_SHARE, FRAMES_A_HOLE, HOLES, MOST_BINS, MOST_FRAMES, MOST_LEVEL, MOST_TILT, NEARLY, SHORTEST_SILENCE, TAIL,
)  # fmt: skip
from features import SAMPLE_RATE, SHIFT
from model import MEL_BINS
from noise import KINDS, LEAST_DB, MOST_DB, SHARE, Noise
from pauses import DIGITAL_SHARE, FAINTEST, JOINED_SHARE, LONGEST_FRAMES, LONGEST_GAP, LONGEST_WAIT, LOUDEST, WAITING_SHARE
from sound import LogMel, chosen, coloured_noise, degraded, uniform
from speakers import Spoken
from synthesize import (
    AT_ONCE_SHARE, FAINTEST_NOTHING_DB, LONGEST_AFTER_S, LONGEST_BEFORE_S, LOUDEST_NOTHING_DB, SHORTEST_AFTER_S, SHORTEST_BEFORE_S,
)  # fmt: skip
from vocal_tract import other_speakers

SURROUND_FRAMES = 75  # that an utterance gets around it, about
AT_ONCE = 40000  # utterances that are sorted by length together


class Batch(NamedTuple):
    x: torch.Tensor  # (rows, frames, 80), frames a multiple of 8
    frames: torch.Tensor  # (rows) on the CPU, of 10 ms
    written: torch.Tensor  # characters of all rows, one behind the other
    said: torch.Tensor  # syllables, likewise, 0 where they are not known
    counts: torch.Tensor  # (rows) on the CPU, characters
    known: torch.Tensor  # (rows) bool on the CPU, whether the syllables are


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """starts[0], starts[0] + 1, ... (counts[0] of them), starts[1], ..."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


class Pool:
    def __init__(self, device: str, hours: float, mean: torch.Tensor, seed: int = 0):
        self.device, self.mean = device, mean
        self.rng, self.random = np.random.default_rng(seed), random.Random(seed)
        self.samples = torch.empty(int(hours * 3600 * SAMPLE_RATE), dtype=torch.int16, device=device)
        self.written = torch.empty(int(hours * 30000), dtype=torch.int16, device=device)
        self.said = torch.empty_like(self.written)
        self.table = np.zeros((5, int(hours * 3000)), np.int64)  # first sample, samples, first character, characters, known
        self.used = np.zeros(self.table.shape[1])
        self.count = self.filled = self.texts = 0
        self.log_mel = LogMel(device)
        self.kinds = torch.stack(Noise(self.random).kinds).to(device)

    def take(self, spoken: Spoken) -> bool:
        """Adds what a speaker said; False when there is no room."""
        file, (written, said), sizes = spoken
        samples = np.load(file)
        file.unlink()
        n = len(sizes)
        full = self.filled + len(samples) > len(self.samples) or self.count + n > self.table.shape[1] or self.texts + len(written) > len(self.written)
        if full:
            return False
        self.samples[self.filled : self.filled + len(samples)] = torch.from_numpy(samples).to(self.device)
        self.written[self.texts : self.texts + len(written)] = torch.from_numpy(written).to(self.device)
        self.said[self.texts : self.texts + len(written)] = torch.from_numpy(said).to(self.device)
        rows = self.table[:, self.count : self.count + n]
        rows[1], rows[3], rows[4] = sizes.T
        rows[0] = self.filled + np.cumsum(rows[1]) - rows[1]
        rows[2] = self.texts + np.cumsum(rows[3]) - rows[3]
        self.filled, self.texts = self.filled + len(samples), self.texts + len(written)
        self.count += n
        return True

    @property
    def hours(self) -> float:
        return self.filled / SAMPLE_RATE / 3600

    def groups(self, most_frames: int):
        """Endless: numbers of utterances of like length, the least heard first."""
        while True:
            n = self.count
            order = np.argsort(self.used[:n] + self.rng.random(n))[:AT_ONCE]
            self.used[order] += 1
            lengths = self.table[1, order] / SHIFT * self.rng.uniform(0.95, 1.05, len(order))
            order = order[np.argsort(lengths)]
            frames = self.table[1, order] // SHIFT + SURROUND_FRAMES
            groups, first, longest = [], 0, 0
            for i, length in enumerate(frames.tolist()):
                longest = max(longest, length)
                if i > first and longest * (i + 1 - first) > most_frames:
                    groups.append(order[first:i])
                    first, longest = i, length
            groups.append(order[first:])
            self.random.shuffle(groups)
            yield from (group for group in groups if len(group) > 3)

    def on(self, array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    @torch.no_grad()
    def batch(self, group: np.ndarray) -> Batch:
        rng = self.rng
        first, samples, text, counts, known = self.table[:, group]
        speech = counts > 0
        before = np.where((rng.random(len(group)) < AT_ONCE_SHARE) | ~speech, 0, rng.uniform(SHORTEST_BEFORE_S, LONGEST_BEFORE_S, len(group)) * SAMPLE_RATE).astype(np.int64)
        total = samples + before + np.where(speech, rng.uniform(SHORTEST_AFTER_S, LONGEST_AFTER_S, len(group)) * SAMPLE_RATE, 0).astype(np.int64)
        features = self.features(first, samples, before, total, speech)
        frames = (total + SHIFT // 2) // SHIFT
        x, lengths, joined = self.composed(features, frames)
        at = self.on(ranges(text, counts)[: counts[: len(lengths) * (1 + joined)].sum()])
        if joined:
            counts, known = counts[0:-1:2] + counts[1::2], known[0:-1:2] & known[1::2]
        x = self.disguised(x, lengths)
        return Batch(x, torch.from_numpy(lengths), self.written[at].long(), self.said[at].long(), torch.from_numpy(counts), torch.from_numpy(known > 0))

    def features(self, first: np.ndarray, samples: np.ndarray, before: np.ndarray, total: np.ndarray, speech: np.ndarray) -> torch.Tensor:
        at = torch.arange(int(total.max()), device=self.device) - self.on(before)[:, None]
        there = (at >= 0) & (at < self.on(samples)[:, None])
        sound = self.samples[(at + self.on(first)[:, None]) * there].float() / 32768 * there
        lengths = self.on(total)
        sound = degraded(other_speakers(sound, lengths), lengths)
        silent = np.flatnonzero(~speech)
        if len(silent):
            rows = self.on(silent)
            level = 10 ** (uniform(len(silent), FAINTEST_NOTHING_DB, LOUDEST_NOTHING_DB, sound) / 20)
            sound[rows] = (coloured_noise(sound[rows], lengths[rows]) * level).clamp(-1, 1)
        return self.log_mel(sound, lengths)

    def composed(self, features: torch.Tensor, frames: np.ndarray) -> tuple[torch.Tensor, np.ndarray, bool]:
        """Utterances, some after one another, with pauses -> (rows, frames, 80), frames of each with TAIL, whether two and two were joined."""
        rng, longest = self.rng, int(frames.max())
        joined = rng.random() < JOINED_SHARE and 2 * longest + LONGEST_GAP < LONGEST_FRAMES and len(frames) > 3
        n = len(frames) // 2 if joined else len(frames)
        used = 2 * n if joined else n
        own = frames[:used]
        gaps = rng.integers(0, LONGEST_GAP + 1, n) if joined else np.zeros(n, np.int64)
        content = own[0::2] + gaps + own[1::2] if joined else own
        most_wait = max(0, min(LONGEST_WAIT, LONGEST_FRAMES - int(content.max()))) if rng.random() < WAITING_SHARE else 0
        waits = rng.integers(0, rng.integers(0, most_wait + 1) + 1, n)
        lengths = waits + content + TAIL
        width = (int(lengths.max()) + 7) // 8 * 8
        offsets = np.stack([waits, waits + own[0::2] + gaps], 1).flatten() if joined else waits
        rows = np.arange(used) // 2 if joined else np.arange(n)
        x = self.pauses(n, width, waits, (waits + own[0::2] if joined else waits), gaps)
        source, target = ranges(np.arange(used) * features.shape[1], own), ranges(rows * width + offsets, own)
        x.view(-1, MEL_BINS)[self.on(target)] = features.reshape(-1, MEL_BINS)[self.on(source)]
        return x, lengths, joined

    def pauses(self, rows: int, width: int, waits: np.ndarray, gap_from: np.ndarray, gaps: np.ndarray) -> torch.Tensor:
        x = torch.full((rows, width, MEL_BINS), DIGITAL_SILENCE, device=self.device)
        if not waits.any() and not gaps.any():
            return x
        time = torch.arange(width, device=self.device)
        for start, length in ((np.zeros_like(waits), waits), (gap_from, gaps)):
            start, length = self.on(start)[:, None], self.on(length)[:, None]
            faint = (time >= start) & (time < start + length) & ~chosen(rows, DIGITAL_SHARE, x)
            noise = self.noise_for(rows, width) + uniform(rows, FAINTEST, LOUDEST, x)[:, :, None]
            x = torch.where(faint[:, :, None], noise.clamp(min=DIGITAL_SILENCE), x)
        return x

    def noise_for(self, rows: int, width: int) -> torch.Tensor:
        """(rows, width, 80), the mean energy of each kind is one."""
        kind = torch.randint(KINDS, (rows, 1), device=self.device)
        start = torch.randint(max(1, self.kinds.shape[1] - width), (rows, 1), device=self.device)
        return self.kinds[kind, (start + torch.arange(width, device=self.device)) % self.kinds.shape[1]]

    def disguised(self, x: torch.Tensor, lengths: np.ndarray) -> torch.Tensor:
        """batches.disguise."""
        rows, width = x.shape[:2]
        time = torch.arange(width, device=self.device)[None]
        length = self.on(lengths)[:, None]
        silent = (x < DIGITAL_SILENCE + NEARLY).all(-1, keepdim=True)
        x = x + uniform(rows, -MOST_LEVEL, MOST_LEVEL, x)[:, :, None] + uniform(rows, -MOST_TILT, MOST_TILT, x)[:, :, None] * torch.linspace(-1, 1, MEL_BINS, device=self.device)
        x = torch.where(silent, DIGITAL_SILENCE, x)
        sound = time < length - TAIL
        noisy = (chosen(rows, SHARE, x) & sound)[:, :, None]
        level = x.masked_fill(~sound[:, :, None], -math.inf).flatten(1).logsumexp(1)[:, None] - torch.log((length - TAIL) * float(MEL_BINS))
        level = level - math.log(10) / 10 * uniform(rows, LEAST_DB, MOST_DB, x)
        x = torch.where(noisy, torch.logaddexp(x, self.noise_for(rows, width) + level[:, :, None]), x)
        early = torch.randint(1, SHORTEST_SILENCE + 1, (rows, 1), device=self.device) * chosen(rows, EARLY_SHARE, x)
        x = x.masked_fill((time >= length - TAIL - early)[:, :, None], DIGITAL_SILENCE)
        bins = torch.arange(MEL_BINS, device=self.device)[None]
        hole = torch.zeros(rows, width, MEL_BINS, dtype=torch.bool, device=self.device)
        for _ in range(HOLES):
            wide = torch.randint(0, MOST_BINS + 1, (rows, 1), device=self.device)
            low = (torch.rand(rows, 1, device=self.device) * (MEL_BINS - wide + 1)).long()
            hole |= ((bins >= low) & (bins < low + wide))[:, None]
            long = (torch.rand(rows, 1, device=self.device) * ((length // FRAMES_A_HOLE).clamp(max=MOST_FRAMES) + 1)).long()
            start = (torch.rand(rows, 1, device=self.device) * (length - long + 1)).long()
            hole |= ((time >= start) & (time < start + long))[:, :, None]
        return torch.where(hole, self.mean, x)
