"""lessons.py for a GPU: nothing is looked up one by one, and nothing waits for the GPU but where it must."""

import torch
import torch.nn.functional as F

import spelling
from lessons import DEVICE, USE_BFLOAT16
from losses import ctc
from model import DELAY, Net
from pool import Batch
from reading import Reading
from targets import Targets

READ = {"own": 10240, "drawn": 20480, "debian": 10240}  # characters in a step


def of_tones(tones: torch.Tensor, characters: torch.Tensor, batch: Batch, of_syllable: torch.Tensor) -> torch.Tensor:
    """losses.of_tones of the rows in which as many characters are written as there are. tones, characters: logits (rows, frames / 4, ...)."""
    device = tones.device
    steps, counts = (batch.frames // 4).to(device)[:, None], batch.counts.to(device)[:, None]
    best = characters.argmax(-1)
    best = best * (torch.arange(best.shape[1], device=device) < steps)
    begun = spelling.begun(best, torch.zeros_like(best[:, :1])) > 0
    nth = begun.cumsum(1)
    usable = begun & (nth[:, -1:] == counts) & batch.known.to(device)[:, None]
    usable[:, :DELAY] = False
    first = (batch.counts.cumsum(0) - batch.counts).to(device)[:, None]
    truth = of_syllable[batch.said[(first + nth - 1).clamp(0, len(batch.said) - 1)]]
    losses = F.cross_entropy(F.pad(tones, (0, 0, DELAY, -DELAY)).float().transpose(1, 2), truth, reduction="none")
    return (losses * usable).sum() / usable.sum().clamp(min=1)


class Lessons:
    def __init__(self, targets: Targets):
        self.reading = Reading(targets, DEVICE, READ)
        self.of_syllable = torch.tensor(targets.tone, device=DEVICE)

    def losses(self, net: Net, batch: Batch) -> list[torch.Tensor]:
        """Of the characters, of the syllables, of the tones, of text."""
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=USE_BFLOAT16):
            chosen_by, syllables, tones = net.heard(batch.x)
            characters, begun = net.written(chosen_by, syllables)
        steps, known = batch.frames // 4, batch.known.nonzero()[:, 0]
        of_known = batch.known.repeat_interleave(batch.counts).nonzero()[:, 0].to(DEVICE)
        self.reading.remember(chosen_by, begun)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=USE_BFLOAT16):
            of_text = self.reading.loss(net)
        return [
            ctc(characters, steps, batch.written, batch.counts),
            ctc(syllables[known.to(DEVICE)], steps[known], batch.said[of_known], batch.counts[known]),
            of_tones(tones, characters, batch, self.of_syllable),
            of_text,
        ]
