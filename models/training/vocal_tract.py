"""Other speakers of what somebody said: in a mouth of another size and shape, of another colour, clearer or more slurred, some of them breathier. In PyTorch, many at once.

espeak-ng's voices have their consonants in common, and Yue Tan is one person: what is alike in every voice that it hears, the network takes for what the sound is.
So here the spectral envelope, as the cepstrum has it, is moved along the frequencies as in vocal tract length perturbation (Jaitly and Hinton, 2013), but not by one
factor alone, and the fine structure, which is the pitch, stays where it is.
"""

import math

import torch

from sound import chosen, inside, uniform

FFT_SIZE, SHIFT = 512, 128
BINS = FFT_SIZE // 2 + 1
# What is finer than this in the spectrum is the voice's pitch: harmonics 400 Hz apart are 40 samples of the cepstrum.
ENVELOPE_SAMPLES = 36
OTHER_SHARE = 0.7  # of the utterances
SMALLEST_MOUTH, LARGEST_MOUTH = 0.8, 1.25  # the factor of all its formants' frequencies
KNOTS = 6
MOST_BENT = 0.07  # of the frequency at each knot
COLOUR_DB = 5  # standard deviation at each knot
MOST_SLURRED, MOST_CLEAR = 0.75, 1.25
BREATHY_SHARE, LOWEST_BREATH_HZ, HIGHEST_BREATH_HZ = 0.2, 1500, 6000
MOST_GAIN_DB = 24
NEPERS = math.log(10) / 20


def envelope(log_magnitude: torch.Tensor) -> torch.Tensor:
    """(batch, BINS, frames), in nepers, without what is finer than ENVELOPE_SAMPLES."""
    cepstrum = torch.fft.irfft(log_magnitude, FFT_SIZE, dim=1)
    near = torch.arange(FFT_SIZE, device=log_magnitude.device)
    near = torch.minimum(near, FFT_SIZE - near)
    kept = torch.where(near < ENVELOPE_SAMPLES, 0.5 + 0.5 * torch.cos(math.pi * near / ENVELOPE_SAMPLES), 0)
    return torch.fft.rfft(cepstrum * kept[:, None], dim=1).real


def between_knots(values: torch.Tensor) -> torch.Tensor:
    """(batch, KNOTS) -> (batch, BINS); the knots lie as a logarithm does, closer at low frequencies."""
    at = torch.log1p(torch.arange(BINS, device=values.device) / 16) / math.log1p((BINS - 1) / 16) * (KNOTS - 1)
    low = at.floor().long().clamp(max=KNOTS - 2)
    return torch.lerp(values[:, low], values[:, low + 1], (at - low).expand(len(values), -1))


def other_speaker(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """(batch, samples) float32 -> the same words by somebody else, each utterance by another one."""
    n, device = len(x), x.device
    window = torch.hann_window(FFT_SIZE, device=device)
    spectrum = torch.stft(x, FFT_SIZE, SHIFT, window=window, return_complex=True)
    heights = envelope(torch.log(spectrum.abs() + 1e-5))
    size = torch.exp(uniform(n, math.log(SMALLEST_MOUTH), math.log(LARGEST_MOUTH), x))
    bent = between_knots(1 + MOST_BENT * (2 * torch.rand(n, KNOTS, device=device) - 1))
    source = (torch.arange(BINS, device=device) * bent / size).clamp(max=BINS - 1.001)
    low = source.floor().long()
    index = low[:, :, None].expand_as(heights)
    moved = torch.lerp(heights.gather(1, index), heights.gather(1, index + 1), (source - low)[:, :, None])
    clear = uniform(n, MOST_SLURRED, MOST_CLEAR, x)[:, :, None]
    moved = torch.lerp(moved.mean(1, keepdim=True), moved, clear)
    colour = between_knots(COLOUR_DB * NEPERS * torch.randn(n, KNOTS, device=device))[:, :, None]
    gain = torch.exp((moved - heights + colour).clamp(-MOST_GAIN_DB * NEPERS, MOST_GAIN_DB * NEPERS))
    from_bin = uniform(n, LOWEST_BREATH_HZ, HIGHEST_BREATH_HZ, x) / 8000 * (BINS - 1)
    breathy = (torch.arange(BINS, device=device) > from_bin) & chosen(n, BREATHY_SHARE, x)
    turned = torch.where(breathy[:, :, None], torch.rand(spectrum.shape, device=device) * (2 * math.pi), 0)
    spectrum = spectrum * torch.polar(gain, turned)
    return torch.istft(spectrum, FFT_SIZE, SHIFT, window=window, length=x.shape[1]) * inside(x, lengths)


def other_speakers(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Of OTHER_SHARE of the utterances."""
    rows = chosen(len(x), OTHER_SHARE, x)[:, 0].nonzero()[:, 0]
    if len(rows):
        x = x.clone()
        x[rows] = other_speaker(x[rows], lengths[rows])
    return x
