"""What happens to a clean voice on its way to the server: room, microphone, telephone, level, noise."""

import random

import numpy as np
from scipy.signal import butter, fftconvolve, lfilter, sosfilt

from features import SAMPLE_RATE

# What degrade draws from, here and for a GPU (sound.py).
ROOM_SHARE, SHORTEST_ROOM_S, LONGEST_ROOM_S, DRIEST, WETTEST = 0.3, 0.05, 0.35, 0.1, 0.6
TILTED_SHARE, STEEPEST_TILT = 0.4, 0.6
COLOURED_SHARE, LEAST_POLE, MOST_POLE = 0.6, 0.5, 0.98
QUIETEST_DB, LOUDEST_DB = -24, -1
NOISY_SHARE, NOISIEST_DB, CLEANEST_DB = 0.7, 6, 45
TELEPHONE_SHARE, CODED_SHARE = 0.12, 0.5
TELEPHONE = butter(4, [300, 3400], "bandpass", fs=SAMPLE_RATE, output="sos")


def room(samples: np.ndarray, rng: random.Random) -> np.ndarray:
    noise = np.random.RandomState(rng.randint(0, 1 << 30))
    length = int(rng.uniform(SHORTEST_ROOM_S, LONGEST_ROOM_S) * SAMPLE_RATE)
    tail = noise.randn(length) * np.exp(-5 * np.arange(length) / length)
    tail[0] = 0
    tail *= rng.uniform(DRIEST, WETTEST) / np.sqrt((tail**2).sum())
    tail[0] = 1
    return fftconvolve(samples, tail.astype(np.float32))[: len(samples)]


def coloured_noise(n: int, rng: random.Random) -> np.ndarray:
    """Noise of unit power, from white to a low rumble."""
    noise = np.random.RandomState(rng.randint(0, 1 << 30)).randn(n)
    if rng.random() < COLOURED_SHARE:
        noise = lfilter([1], [1, -rng.uniform(LEAST_POLE, MOST_POLE)], noise)
    return noise / np.sqrt((noise**2).mean() + 1e-12)


def telephone(samples: np.ndarray, rng: random.Random) -> np.ndarray:
    """300 to 3400 Hz, sometimes 8-bit mu-law as well."""
    narrow = sosfilt(TELEPHONE, samples)
    if rng.random() < CODED_SHARE:
        peak = np.abs(narrow).max() + 1e-9
        code = np.sign(narrow) * np.log1p(255 * np.abs(narrow) / peak) / np.log(256)
        code = np.round(code * 127) / 127
        narrow = peak * np.sign(code) * np.expm1(np.abs(code) * np.log(256)) / 255
    return narrow


def degrade(samples: np.ndarray, rng: random.Random, telephone_share: float = TELEPHONE_SHARE) -> np.ndarray:
    """A random chain of the above; float32 samples in [-1, 1]."""
    if rng.random() < ROOM_SHARE:
        samples = room(samples, rng)
    if rng.random() < TILTED_SHARE:
        samples = lfilter([1, rng.uniform(-STEEPEST_TILT, STEEPEST_TILT)], [1], samples)
    narrow = rng.random() < telephone_share
    peak_db = rng.uniform(QUIETEST_DB, LOUDEST_DB)
    samples = samples * (10 ** (peak_db / 20) / (np.abs(samples).max() + 1e-6))
    if rng.random() < NOISY_SHARE:
        power = np.sqrt((samples**2).mean() + 1e-12)
        samples = samples + coloured_noise(len(samples), rng) * power * 10 ** (-rng.uniform(NOISIEST_DB, CLEANEST_DB) / 20)
    if narrow:
        samples = telephone(samples, rng)
    return np.clip(samples, -1, 1).astype(np.float32)
