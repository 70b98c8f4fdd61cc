"""What the network is told to do better: the losses of a batch of audio, and of some text beside it."""

import random
from pathlib import Path

import torch

from batches import Utterance, disguise, pad
from losses import aligned, ctc, heard_at, of_tones
from model import DELAY, Net
from noise import Noise
from pauses import Pauses
from reading import CHARACTERS, Reading
from targets import Targets

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# Where the processor has no instructions for it, bfloat16 is slower than float32.
USE_BFLOAT16 = DEVICE == "cuda" or "avx512_bf16" in Path("/proc/cpuinfo").read_text()
LATE = 2  # frames of 40 ms after its sound that the alignment puts a syllable


def flat(targets: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """One behind the other, and how many of each."""
    return torch.tensor([t for target in targets for t in target], device=DEVICE), torch.tensor([len(t) for t in targets])


class Lessons:
    """What a network is told to do better, batch by batch."""

    def __init__(self, targets: Targets, mean: torch.Tensor, rng: random.Random, processes: int):
        self.targets, self.mean, self.rng = targets, mean, rng
        self.noise = Noise(rng)
        self.pauses = Pauses(self.noise, rng)
        self.reading = Reading(targets, DEVICE, {part: n // processes for part, n in CHARACTERS.items()})

    def losses(self, net: Net, group: list[Utterance], uniform: bool) -> list[torch.Tensor]:
        """Of the characters, of the syllables, of the tones, of text; `uniform`: of an even alignment, and not of text."""
        targets = self.targets
        group = group if uniform else self.pauses.into(group)
        x, lengths = pad(group)
        if not uniform:
            x = disguise(x, lengths, self.mean, self.rng, self.noise)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=USE_BFLOAT16):
            chosen_by, syllables, tones = net.heard(x.to(DEVICE))
            characters, begun = net.written(chosen_by, syllables)
        steps = lengths // 4
        spelt = [targets.characters(text) for text, _ in group]
        said = {i: s for i, (text, _) in enumerate(group) if (s := targets.syllables(text)) is not None}
        known, sounds = list(said), list(said.values())
        best = [row[:end] for row, end in zip(characters.argmax(-1).tolist(), steps.tolist(), strict=True)]
        heard = [heard_at(written, len(s)) for written, s in zip(best, spelt, strict=True)]
        of_pitch = of_tones(tones, heard, [targets.tones(text) for text, _ in group])
        if uniform:
            of_characters = aligned(characters, group, spelt, steps, LATE + DELAY)
            return [of_characters, aligned(syllables[known], [group[i] for i in known], sounds, steps[known], LATE), of_pitch, of_characters.new_zeros(())]
        self.reading.remember(chosen_by, begun)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=USE_BFLOAT16):
            of_text = self.reading.loss(net)
        return [ctc(characters, steps, *flat(spelt)), ctc(syllables[known], steps[known], *flat(sounds)), of_pitch, of_text]
