"""augment.py and features.py for many utterances at once, in PyTorch, where they lie: on a GPU each utterance is disguised anew every time it is heard.

(batch, samples) float32 holds utterances that begin at sample 0, zeros behind each; `lengths` (batch) are their samples.
"""

import math

import numpy as np
import torch
from scipy.signal import sosfreqz

from augment import (
    CLEANEST_DB, CODED_SHARE, COLOURED_SHARE, DRIEST, LEAST_POLE, LONGEST_ROOM_S, LOUDEST_DB, MOST_POLE, NOISIEST_DB, NOISY_SHARE, QUIETEST_DB, ROOM_SHARE,
    SHORTEST_ROOM_S, STEEPEST_TILT, TELEPHONE, TELEPHONE_SHARE, TILTED_SHARE, WETTEST,
)  # fmt: skip
from features import FFT_SIZE, MEL, POVEY, SAMPLE_RATE, SHIFT, SMALLEST_ENERGY, WINDOW

BLOCK = 4000  # samples; Fourier transforms of whole blocks have small prime factors


def uniform(n: int, low: float, high: float, like: torch.Tensor) -> torch.Tensor:
    return torch.empty(n, 1, device=like.device).uniform_(low, high)


def chosen(n: int, share: float, like: torch.Tensor) -> torch.Tensor:
    """(n, 1): true for `share` of them, by chance."""
    return torch.rand(n, 1, device=like.device) < share


def inside(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(x.shape[1], device=x.device) < lengths[:, None]


def whole_blocks(samples: int) -> int:
    return -(-samples // BLOCK) * BLOCK


def in_a_room(x: torch.Tensor) -> torch.Tensor:
    n = len(x)
    longest = int(LONGEST_ROOM_S * SAMPLE_RATE)
    time = torch.arange(longest, device=x.device)
    length = (uniform(n, SHORTEST_ROOM_S, LONGEST_ROOM_S, x) * SAMPLE_RATE).floor()
    tail = torch.randn(n, longest, device=x.device) * torch.exp(-5 * time / length) * (time < length)
    tail[:, 0] = 0
    tail *= uniform(n, DRIEST, WETTEST, x) / tail.norm(dim=1, keepdim=True)
    tail[:, 0] = 1
    size = whole_blocks(x.shape[1] + longest)
    return torch.fft.irfft(torch.fft.rfft(x, size) * torch.fft.rfft(tail, size), size)[:, : x.shape[1]]


def coloured_noise(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Noise of unit power in the shape of x, from white to a low rumble."""
    n, size = len(x), whole_blocks(x.shape[1])
    pole = uniform(n, LEAST_POLE, MOST_POLE, x) * chosen(n, COLOURED_SHARE, x)
    spectrum = torch.fft.rfft(torch.randn(n, size, device=x.device))
    turn = -2 * math.pi / size * torch.arange(spectrum.shape[1], device=x.device)
    noise = torch.fft.irfft(spectrum / (1 - pole * torch.polar(torch.ones_like(turn), turn)), size)[:, : x.shape[1]]
    noise = noise * inside(x, lengths)
    return noise / torch.sqrt(noise.square().sum(1, keepdim=True) / lengths[:, None] + 1e-12)


def by_telephone(x: torch.Tensor) -> torch.Tensor:
    size = whole_blocks(x.shape[1] + SAMPLE_RATE // 10)
    passed = sosfreqz(TELEPHONE, np.linspace(0, math.pi, size // 2 + 1))[1]
    response = torch.from_numpy(passed.astype(np.complex64)).to(x.device)
    narrow = torch.fft.irfft(torch.fft.rfft(x, size) * response, size)[:, : x.shape[1]]
    peak = narrow.abs().amax(1, keepdim=True) + 1e-9
    code = torch.sign(narrow) * torch.log1p(255 * narrow.abs() / peak) / math.log(256)
    code = torch.round(code * 127) / 127
    coded = peak * torch.sign(code) * torch.expm1(code.abs() * math.log(256)) / 255
    return torch.where(chosen(len(x), CODED_SHARE, x), coded, narrow)


def degraded(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """A random chain of the above for each utterance, as augment.degrade makes it."""
    n, within = len(x), inside(x, lengths)
    x = x.clone()
    roomy = chosen(n, ROOM_SHARE, x)[:, 0].nonzero()[:, 0]
    if len(roomy):
        x[roomy] = in_a_room(x[roomy])
    tilt = uniform(n, -STEEPEST_TILT, STEEPEST_TILT, x) * chosen(n, TILTED_SHARE, x)
    x[:, 1:] = x[:, 1:] + tilt * x[:, :-1]
    x *= within
    x *= 10 ** (uniform(n, QUIETEST_DB, LOUDEST_DB, x) / 20) / (x.abs().amax(1, keepdim=True) + 1e-6)
    power = torch.sqrt(x.square().sum(1, keepdim=True) / lengths[:, None] + 1e-12)
    x += coloured_noise(x, lengths) * power * 10 ** (-uniform(n, NOISIEST_DB, CLEANEST_DB, x) / 20) * chosen(n, NOISY_SHARE, x)
    narrow = chosen(n, TELEPHONE_SHARE, x)[:, 0].nonzero()[:, 0]
    if len(narrow):
        x[narrow] = by_telephone(x[narrow])
    return x.clamp(-1, 1) * within


class LogMel:
    """features.log_mel."""

    def __init__(self, device: str):
        self.window, self.filters = torch.from_numpy(POVEY).to(device), torch.from_numpy(MEL).to(device)

    def __call__(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(batch, frames, 80); what is behind the frames of an utterance is of no use."""
        most = (x.shape[1] + SHIFT // 2) // SHIFT
        before = WINDOW // 2 - SHIFT // 2
        at = torch.arange((most - 1) * SHIFT + WINDOW, device=x.device) - before
        at = torch.where(at < 0, -at - 1, at).expand(len(x), -1)
        last = lengths[:, None] - 1
        at = torch.minimum(torch.where(at > last, 2 * last + 1 - at, at).clamp(min=0), last)
        windows = x.gather(1, at).unfold(1, WINDOW, SHIFT)
        windows = windows - windows.mean(2, keepdim=True)
        windows = torch.cat([windows[..., :1] * 0.03, windows[..., 1:] - 0.97 * windows[..., :-1]], 2) * self.window
        power = torch.view_as_real(torch.fft.rfft(windows, FFT_SIZE)).square().sum(-1)
        return torch.log((power @ self.filters).clamp(min=float(SMALLEST_ENERGY)))
