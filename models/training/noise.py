"""Noise laid over features: other noise each time an utterance is heard, where synthesize.py lays it over the sound once."""

import math
import random

import numpy as np
import torch

from augment import coloured_noise
from features import SAMPLE_RATE, log_mel

SHARE = 0.25  # of the utterances
LEAST_DB, MOST_DB = 3, 30  # that the mean energy of an utterance's bins is above the noise's
KINDS, LONGEST_S = 64, 11


class Noise:
    """Log-mel energies of noise from white to a low rumble, their mean energy one."""

    def __init__(self, rng: random.Random):
        kinds = [torch.from_numpy(log_mel(coloured_noise(LONGEST_S * SAMPLE_RATE, rng).astype(np.float32))) for _ in range(KINDS)]
        self.kinds = [kind - mean_level(kind) for kind in kinds]

    def over(self, x: torch.Tensor, lengths: list[int], rng: random.Random):
        """Into some of (batch, frames, 80), log-mel, of which the first `lengths` frames are sound. Energies add up, as those of independent sounds do on average."""
        for utterance, length in zip(x, lengths, strict=True):
            if rng.random() >= SHARE:
                continue
            kind = rng.choice(self.kinds)
            start = rng.randint(0, len(kind) - length)
            below = math.log(10) / 10 * rng.uniform(LEAST_DB, MOST_DB)
            sound = utterance[:length]
            torch.logaddexp(sound, kind[start : start + length] + (mean_level(sound) - below), out=sound)


def mean_level(log_energies: torch.Tensor) -> torch.Tensor:
    return log_energies.flatten().logsumexp(0) - math.log(log_energies.numel())
