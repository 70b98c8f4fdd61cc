"""A causal convolutional network from log-mel frames to character log-probabilities, one every 40 ms.

Everything looks only backwards, so streaming is exact: export.py runs the same weights step by step. What
comes after a word is seen by saying the word late (DELAY): CTC alone does not learn to wait.
Layout here is (batch, time, channels): a convolution is then one matrix product, which CPUs do several
times faster in bfloat16 than their convolution kernels.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import spelling
from features import centres_hz
from spelling import Spelling

MEL_BINS = 80
FRAMES_A_SECOND = 100
CHANNELS = 256
KERNEL = 5
# Left context: (kernel - 1) x sum of dilations frames of 40 ms, 3.9 s in all. The last three blocks were found to look no further back than two dilations.
DILATIONS = (1, 2, 4) * 4
NARROW_FROM, NARROW_KERNEL = 9, 3
# On top, one frame every 80 ms: the choice between characters of one sound needs words, not sounds. 3.5 s more of left context.
SLOW_DILATIONS = (1, 1, 2, 4, 1, 2)
# The tones have a way of their own to the slow blocks: what they are made of, the pitch, is a ripple along the spectrum that the convolutions above hardly
# learn to see, however long they train. Its first layer starts with a comb of cosines for each of these pitches.
LOWEST_PITCH_HZ, HIGHEST_PITCH_HZ, PITCHES = 60, 380, 96
# Of a low voice the window of 25 ms holds one or two pulses, and there is no ripple. But the level of the frames then beats with the
# difference between the pitch and the 100 frames a second: a convolution over frames, starting with a wave of each of these beats in four phases.
BEAT_BANDS, BEAT_KERNEL = 8, 11
SLOWEST_BEAT_HZ, FASTEST_BEAT_HZ, BEATS = 8, 50, 8
BEAT_CHANNELS = 2 * 4 * BEATS  # lower and upper half of the bands
TONE_CHANNELS = 96
TONE_DILATIONS = (1, 2, 4, 8)
# Frames of 40 ms that a character is held back, so that these blocks know what follows it. With the 0.1 s after a word that the network
# takes by itself it must stay below the silence which the server puts behind a recording (0.6 s).
DELAY = 10
# Of whole channels, by utterance: drawing a number for every element would cost a seventh of the training time.
DROPOUT = 0.05


class CausalConv(nn.Module):
    """Convolution over time that sees the past only, then batch normalisation."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1, dilation: int = 1, kernel: int = KERNEL):
        super().__init__()
        self.stride, self.dilation, self.kernel = stride, dilation, kernel
        self.past = (kernel - 1) * dilation + 1 - stride
        self.weight = nn.Parameter(nn.Conv1d(inputs, outputs, kernel).weight.detach().clone())
        self.norm = nn.BatchNorm1d(outputs)

    def taps(self, x: torch.Tensor) -> list[torch.Tensor]:
        """What stands at each place of the kernel."""
        padded = F.pad(x, (0, 0, self.past, 0))
        steps = x.shape[1] // self.stride
        reach = (steps - 1) * self.stride + 1
        return [padded[:, i * self.dilation : i * self.dilation + reach : self.stride] for i in range(self.kernel)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight = self.weight.permute(0, 2, 1).reshape(self.weight.shape[0], -1)
        return normalise(self.norm, F.linear(torch.cat(self.taps(x), 2), weight))


def normalise(norm: nn.BatchNorm1d, x: torch.Tensor) -> torch.Tensor:
    return norm(x.reshape(-1, x.shape[2])).view(x.shape)


class Block(nn.Module):
    """Residual: a dilated convolution, then a 1x1 one. `dormant` blocks start as the identity."""

    def __init__(self, dilation: int, dormant: bool = False, channels: int = CHANNELS, kernel: int = KERNEL):
        super().__init__()
        self.conv = CausalConv(channels, channels, dilation=dilation, kernel=kernel)
        self.mix = nn.Linear(channels, channels)
        self.norm = nn.BatchNorm1d(channels)
        if dormant:
            nn.init.zeros_(self.norm.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.conv(x))
        y = y * F.dropout(torch.ones_like(y[:, :1]), DROPOUT, self.training)
        return F.relu(x + normalise(self.norm, self.mix(y)))


def combs() -> torch.Tensor:
    """(PITCHES, 80): how much a log-mel frame ripples with the distance of each pitch's harmonics, less what a smooth spectrum has of that."""
    hz = centres_hz()
    weight = np.exp(-hz / 900)  # higher up, the bins are too wide to tell harmonics apart
    smooth = np.stack([weight * (hz / 1000) ** power for power in range(3)], 1)
    rows = []
    for pitch in LOWEST_PITCH_HZ * (HIGHEST_PITCH_HZ / LOWEST_PITCH_HZ) ** (np.arange(PITCHES) / (PITCHES - 1)):
        row = weight * np.cos(2 * np.pi * hz / pitch)
        row -= smooth @ np.linalg.lstsq(smooth, row, rcond=None)[0]
        rows.append(row / np.linalg.norm(row))
    return torch.tensor(np.array(rows), dtype=torch.float32)


def bands() -> torch.Tensor:
    """(BEAT_BANDS, 80): means of neighbouring bins."""
    return torch.eye(BEAT_BANDS).repeat_interleave(MEL_BINS // BEAT_BANDS, 1) * BEAT_BANDS / MEL_BINS


def beats() -> torch.Tensor:
    """(BEAT_CHANNELS, BEAT_BANDS, BEAT_KERNEL): windowed waves without a mean, over the lower or the upper bands."""
    time = np.arange(BEAT_KERNEL) - BEAT_KERNEL // 2
    window = np.hanning(BEAT_KERNEL + 2)[1:-1]
    weights = []
    for half in np.split(np.eye(BEAT_BANDS), 2):
        for hz in np.linspace(SLOWEST_BEAT_HZ, FASTEST_BEAT_HZ, BEATS):
            for quarter in range(4):
                wave = window * np.cos(2 * np.pi * hz / FRAMES_A_SECOND * time + quarter * np.pi / 2)
                wave -= window * wave.sum() / window.sum()
                weights.append(np.outer(half.sum(0), wave / (np.linalg.norm(wave) + 1e-9)))
    return torch.tensor(np.array(weights), dtype=torch.float32)


class Tones(nn.Module):
    """What the pitch does: (batch, frames, 80), normalised -> (batch, frames / 4, TONE_CHANNELS)."""

    def __init__(self):
        super().__init__()
        self.comb = nn.Linear(MEL_BINS, PITCHES)
        with torch.no_grad():
            self.comb.weight.copy_(combs())
            self.comb.bias.zero_()
        self.norm = nn.BatchNorm1d(PITCHES)
        self.bands = nn.Linear(MEL_BINS, BEAT_BANDS)
        self.beats = CausalConv(BEAT_BANDS, BEAT_CHANNELS, kernel=BEAT_KERNEL)
        with torch.no_grad():
            self.bands.weight.copy_(bands())
            self.bands.bias.zero_()
            self.beats.weight.mul_(0.2).add_(beats())
        self.halve1 = CausalConv(PITCHES + BEAT_CHANNELS, TONE_CHANNELS, stride=2)
        self.halve2 = CausalConv(TONE_CHANNELS, TONE_CHANNELS, stride=2)
        self.blocks = nn.ModuleList(Block(d, channels=TONE_CHANNELS) for d in TONE_DILATIONS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ripples = F.relu(normalise(self.norm, self.comb(x)))
        x = torch.cat([ripples, F.relu(self.beats(self.bands(x)))], 2)
        x = F.relu(self.halve2(F.relu(self.halve1(x))))
        for block in self.blocks:
            x = block(x)
        return x


class Net(nn.Module):
    def __init__(self, characters: int, syllables: int, tones: int):
        super().__init__()
        self.register_buffer("mean", torch.zeros(MEL_BINS))
        self.register_buffer("inverse_std", torch.ones(MEL_BINS))
        self.halve1 = CausalConv(MEL_BINS, CHANNELS, stride=2)
        self.halve2 = CausalConv(CHANNELS, CHANNELS, stride=2)
        self.blocks = nn.ModuleList(Block(d) for d in DILATIONS[:NARROW_FROM])
        self.blocks.extend(Block(d, dormant=True, kernel=NARROW_KERNEL) for d in DILATIONS[NARROW_FROM:])
        self.pair = nn.Linear(2 * CHANNELS, CHANNELS)
        self.slow = nn.ModuleList(Block(d) for d in SLOW_DILATIONS)
        self.unpair = nn.Linear(CHANNELS, 2 * CHANNELS)
        nn.init.zeros_(self.unpair.weight)
        self.pitch = Tones()
        self.join = nn.Linear(TONE_CHANNELS, CHANNELS)
        nn.init.zeros_(self.join.weight)
        nn.init.zeros_(self.join.bias)
        self.tones = nn.Linear(TONE_CHANNELS, tones)
        self.characters = nn.Linear(CHANNELS, characters)
        self.syllables = nn.Linear(CHANNELS, syllables)
        self.spelling = Spelling(syllables, CHANNELS)

    def forward(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(batch, frames, 80), frames a multiple of 8 -> logits (batch, frames / 4, ...) of characters, of syllables, of tones."""
        x, syllables, tones = self.heard(features)
        return self.written(x, syllables)[0], syllables, tones

    def heard(self, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(batch, frames, 80) -> what characters are chosen by (batch, frames / 4, CHANNELS), but for the spelling; logits of syllables, of tones."""
        x = (features - self.mean) * self.inverse_std
        pitch = self.pitch(x)
        x = F.relu(self.halve1(x))
        x = F.relu(self.halve2(x))
        for block in self.blocks:
            x = block(x)
        x = x + self.join(pitch)
        syllables = self.syllables(x)
        y = F.relu(self.pair(x.reshape(len(x), -1, 2 * CHANNELS)))
        for block in self.slow:
            y = block(y)
        return F.pad(x, (0, 0, DELAY, -DELAY)) + self.unpair(y).view(x.shape), syllables, self.tones(pitch)

    def written(self, x: torch.Tensor, syllables: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x and the logits of syllables, as of `heard` -> logits of characters; which syllable is to be written, or 0 (batch, frames / 4)."""
        likeliest = syllables.argmax(2)
        begun = spelling.begun(likeliest, torch.zeros_like(likeliest[:, :1]))
        due = F.pad(begun, (DELAY, -DELAY))
        return self.characters(x + self.spelt(due, spelling.around(begun, DELAY)[0])), due

    def spelt(self, begun: torch.Tensor, around: torch.Tensor) -> torch.Tensor:
        """What the spelling adds: something in the frames where a syllable began DELAY frames before, nothing in the others."""
        here = begun > 0
        spelt = torch.zeros(*begun.shape, CHANNELS, device=begun.device, dtype=self.mean.dtype)
        return spelt.index_put(here.nonzero(as_tuple=True), self.spelling(around[here]).to(spelt.dtype))
