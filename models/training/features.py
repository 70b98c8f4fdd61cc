"""Kaldi's log-mel features as the server computes them: 80 bins, 25 ms windows, 10 ms shift, no dither, snip_edges false."""

import numpy as np

SAMPLE_RATE = 16000
WINDOW, SHIFT, FFT_SIZE, BINS = 400, 160, 512, 80
LOWEST_HZ, HIGHEST_HZ = 20.0, 7600.0
SMALLEST_ENERGY = np.float32(1.1920928955078125e-07)


def _povey_window() -> np.ndarray:
    phase = 2 * np.pi * np.arange(WINDOW) / (WINDOW - 1)
    return ((0.5 - 0.5 * np.cos(phase)) ** 0.85).astype(np.float32)


def mel(hz):
    return 1127.0 * np.log(1 + hz / 700.0)


def centres_hz() -> np.ndarray:
    """Of the bins."""
    centres = np.linspace(mel(LOWEST_HZ), mel(HIGHEST_HZ), BINS + 2)[1:-1]
    return 700 * np.expm1(centres / 1127.0)


def _mel_filters() -> np.ndarray:
    width = (mel(HIGHEST_HZ) - mel(LOWEST_HZ)) / (BINS + 1)
    bins = mel(SAMPLE_RATE / FFT_SIZE * np.arange(FFT_SIZE // 2))
    filters = np.zeros((FFT_SIZE // 2 + 1, BINS), np.float32)
    for b in range(BINS):
        left = mel(LOWEST_HZ) + b * width
        rising = (bins - left) / width
        falling = 2 - rising
        triangle = np.minimum(rising, falling)
        filters[: FFT_SIZE // 2, b] = np.maximum(triangle, 0)
    return filters


POVEY = _povey_window()
MEL = _mel_filters()


def log_mel(samples: np.ndarray) -> np.ndarray:
    """float32 samples in [-1, 1] at 16 kHz -> (frames, 80)."""
    n = len(samples)
    frames = (n + SHIFT // 2) // SHIFT
    starts = np.arange(frames) * SHIFT + SHIFT // 2 - WINDOW // 2
    index = starts[:, None] + np.arange(WINDOW)[None]
    index = np.where(index < 0, -index - 1, index)
    index = np.clip(np.where(index >= n, 2 * n - 1 - index, index), 0, n - 1)
    windows = samples[index].astype(np.float32)
    windows -= windows.mean(1, keepdims=True)
    windows = np.concatenate([windows[:, :1] * 0.03, windows[:, 1:] - 0.97 * windows[:, :-1]], 1) * POVEY
    power = np.abs(np.fft.rfft(windows, FFT_SIZE)) ** 2
    return np.log(np.maximum(power.astype(np.float32) @ MEL, SMALLEST_ENERGY))
