"""What happens to a clean voice on its way to the server: room, microphone, telephone, level, noise."""

import random

import numpy as np
from scipy.signal import butter, fftconvolve, lfilter, sosfilt

from features import SAMPLE_RATE

TELEPHONE = butter(4, [300, 3400], "bandpass", fs=SAMPLE_RATE, output="sos")


def room(samples: np.ndarray, rng: random.Random) -> np.ndarray:
    noise = np.random.RandomState(rng.randint(0, 1 << 30))
    length = int(rng.uniform(0.05, 0.35) * SAMPLE_RATE)
    tail = noise.randn(length) * np.exp(-5 * np.arange(length) / length)
    tail[0] = 0
    tail *= rng.uniform(0.1, 0.6) / np.sqrt((tail**2).sum())
    tail[0] = 1
    return fftconvolve(samples, tail.astype(np.float32))[: len(samples)]


def coloured_noise(n: int, rng: random.Random) -> np.ndarray:
    """Noise of unit power, from white to a low rumble."""
    noise = np.random.RandomState(rng.randint(0, 1 << 30)).randn(n)
    if rng.random() < 0.6:
        noise = lfilter([1], [1, -rng.uniform(0.5, 0.98)], noise)
    return noise / np.sqrt((noise**2).mean() + 1e-12)


def telephone(samples: np.ndarray, rng: random.Random) -> np.ndarray:
    """300 to 3400 Hz, sometimes 8-bit mu-law as well."""
    narrow = sosfilt(TELEPHONE, samples)
    if rng.random() < 0.5:
        peak = np.abs(narrow).max() + 1e-9
        code = np.sign(narrow) * np.log1p(255 * np.abs(narrow) / peak) / np.log(256)
        code = np.round(code * 127) / 127
        narrow = peak * np.sign(code) * np.expm1(np.abs(code) * np.log(256)) / 255
    return narrow


def degrade(samples: np.ndarray, rng: random.Random, telephone_share: float = 0.12) -> np.ndarray:
    """A random chain of the above; float32 samples in [-1, 1]."""
    if rng.random() < 0.3:
        samples = room(samples, rng)
    if rng.random() < 0.4:
        samples = lfilter([1, rng.uniform(-0.6, 0.6)], [1], samples)
    narrow = rng.random() < telephone_share
    peak_db = rng.uniform(-24, -1)
    samples = samples * (10 ** (peak_db / 20) / (np.abs(samples).max() + 1e-6))
    if rng.random() < 0.7:
        power = np.sqrt((samples**2).mean() + 1e-12)
        samples = samples + coloured_noise(len(samples), rng) * power * 10 ** (-rng.uniform(6, 45) / 20)
    if narrow:
        samples = telephone(samples, rng)
    return np.clip(samples, -1, 1).astype(np.float32)
