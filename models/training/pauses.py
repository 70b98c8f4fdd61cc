"""Silence where speakers take their time: before the first word, and between two utterances.

A device that suppresses what is no speech makes that digital silence. synthesize.py's recordings have half a second of silence in front at most; a network that
heard nothing else lost the first characters after a second of it.
"""

import random

import numpy as np

from batches import DIGITAL_SILENCE, Utterance
from model import MEL_BINS
from noise import Noise
from targets import PAUSE

WAITING_SHARE, JOINED_SHARE = 0.4, 0.15  # of the batches
LONGEST_WAIT, LONGEST_GAP = 320, 200  # frames
LONGEST_FRAMES = 1050  # of an utterance with all its pauses
DIGITAL_SHARE = 0.7  # of the pauses, the others hold faint noise
FAINTEST, LOUDEST = -16, -9  # log mean energy of that noise; speech has -7 to 0


class Pauses:
    """Puts them into batches of utterances of like length, so that little is filled up."""

    def __init__(self, noise: Noise, rng: random.Random):
        self.noise, self.rng = noise, rng

    def into(self, group: list[Utterance]) -> list[Utterance]:
        longest = max(len(frames) for _, frames in group)
        if self.rng.random() < JOINED_SHARE and 2 * longest + LONGEST_GAP < LONGEST_FRAMES and len(group) > 3:
            group = [self._joined(a, b) for a, b in zip(group[::2], group[1::2], strict=False)]
            longest = max(len(frames) for _, frames in group)
        if self.rng.random() >= WAITING_SHARE:
            return group
        wait = self.rng.randint(0, max(0, min(LONGEST_WAIT, LONGEST_FRAMES - longest)))
        return [(text, np.concatenate([self._silence(self.rng.randint(0, wait)), frames])) for text, frames in group]

    def _joined(self, a: Utterance, b: Utterance) -> Utterance:
        return a[0] + PAUSE + b[0], np.concatenate([a[1], self._silence(self.rng.randint(0, LONGEST_GAP)), b[1]])

    def _silence(self, frames: int) -> np.ndarray:
        digital = np.full((frames, MEL_BINS), DIGITAL_SILENCE, np.float32)
        if self.rng.random() < DIGITAL_SHARE:
            return digital
        kind = self.rng.choice(self.noise.kinds)
        start = self.rng.randint(0, len(kind) - frames)
        return np.maximum(digital, kind[start : start + frames].numpy() + self.rng.uniform(FAINTEST, LOUDEST))
