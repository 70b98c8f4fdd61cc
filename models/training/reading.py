"""`reading.py [--sentences N]`: what the spelling (spelling.py) learns beside the audio, WORK/reading.npz: Tatoeba's training sentences and N drawn ones, as espeak-ng says them.

train.py shows it some of that in every step. What the audio does to the syllables is done to them here: some are heard wrong, and of those that
follow only as many are known as begin within the delay. What the network knows without the spelling is, in text, the mean of what it lately knew in
audio where it heard that syllable. Only the spelling is taught by this.
"""

import argparse
import random
import re
from collections import defaultdict

import numpy as np
import torch
import torch.nn.functional as F

from folders import DATA, WORK
from model import CHANNELS, DELAY, Net
from spelling import BEFORE, BEHIND
from syllables import syllables_of
from targets import Targets
from text import SentenceSampler, characters, tatoeba

FILE = "reading.npz"
CHARACTERS = 2048  # in a step, of all processes; half of them Tatoeba's
OTHER_TONE, OTHER_SYLLABLE = 0.04, 0.03  # of the syllables heard
SHORTEST_SYLLABLE, LONGEST_SYLLABLE = 2, 11  # frames of 40 ms
# In its place the network knows more than the mean does: there, less of the spelling is right than in text. (Left to be learnt, this was 2.0.)
MORE = 2.0
REMEMBERED = 0.998  # from step to step, of what the network knew
ENOUGH = 20000  # syllables to have heard before text is read


def numbered(said: dict[str, list[str]], targets: Targets) -> np.ndarray:
    """Sentences one behind the other, with room between them: (2, n), what is written and what is said, 0 is nothing."""
    written, heard = [0] * BEFORE, [0] * BEFORE
    known = {s: i for i, s in enumerate(targets.inventory)}
    for text, syllables in said.items():
        if known.keys() >= set(syllables) and targets.character.keys() >= set(text):
            written += [*(targets.character[c] for c in text), *[0] * (BEFORE + BEHIND)]
            heard += [*(known[s] for s in syllables), *[0] * (BEFORE + BEHIND)]
    return np.array([written, heard], np.int16)


def write(sentences: int):
    own, held_out = tatoeba(DATA / "sentences.txt.gz")
    sampler, rng = SentenceSampler(own), random.Random(0)
    drawn = {characters(sampler.sentence(rng)) for _ in range(sentences)} - {characters(s) for s in held_out}
    targets = Targets(DATA, WORK)
    parts = [numbered(syllables_of(sorted(part)), targets) for part in ({characters(s) for s in own}, drawn)]
    partial = (WORK / FILE).with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, own=parts[0], drawn=parts[1])
    partial.rename(WORK / FILE)
    print(f"{' and '.join(str((part[0] > 0).sum()) for part in parts)} characters, Tatoeba's and drawn", flush=True)


class Reading:
    def __init__(self, targets: Targets, processes: int = 1):
        if not (WORK / FILE).exists():
            raise SystemExit(f"no {WORK / FILE}: run reading.py first")
        with np.load(WORK / FILE) as parts:
            self.parts = [torch.from_numpy(parts[name]) for name in ("own", "drawn")]
        self.places = [written.nonzero()[:, 0] for written, _ in self.parts]
        self.count = CHARACTERS // len(self.parts) // processes
        self.alike = alike(targets.inventory)
        self.total = torch.zeros(len(targets.inventory), CHANNELS)
        self.heard = torch.zeros(len(targets.inventory), 1)

    @torch.no_grad()
    def remember(self, x: torch.Tensor, begun: torch.Tensor):
        """x (batch, frames, channels): what characters are chosen by, but for the spelling; begun (batch, frames): the syllables to be written there, or 0."""
        here = begun > 0
        of, x = begun[here].cpu(), x[here].float().cpu()
        self.total.mul_(REMEMBERED).index_add_(0, of, x)
        self.heard.mul_(REMEMBERED).index_add_(0, of, torch.ones(len(of), 1))

    def loss(self, net: Net) -> torch.Tensor:
        """Cross-entropy of the characters in some places; nothing as long as little was heard."""
        if self.heard.sum() < ENOUGH:
            return net.mean.new_zeros(())
        drawn = [torch.randint(len(places), (self.count,)) for places in self.places]
        at = [places[d] for places, d in zip(self.places, drawn, strict=True)]
        written = torch.cat([part[0][a] for part, a in zip(self.parts, at, strict=True)]).long()
        window = torch.arange(-BEFORE, BEHIND + 1)
        said = misheard(torch.cat([part[1][a[:, None] + window] for part, a in zip(self.parts, at, strict=True)]).long(), self.alike)
        usual = (self.total + self.total.sum(0) / (self.heard.sum() + 1)) / (self.heard + 1)
        device = net.mean.device
        chosen_by = usual[said[:, BEFORE]].to(device) + MORE * net.spelling(said.to(device))
        logits = F.linear(chosen_by, net.characters.weight.detach(), net.characters.bias.detach())
        return F.cross_entropy(logits.float(), written.to(device))


def alike(inventory: list[str]) -> list[list[int]]:
    """For each syllable the numbers of those that differ from it in the tone at most."""
    bases = [re.sub("[0-9]", "", s) for s in inventory]
    numbers = defaultdict(list)
    for number, base in enumerate(bases):
        numbers[base].append(number)
    return [numbers[base] for base in bases]


def misheard(around: torch.Tensor, alike: list[list[int]]) -> torch.Tensor:
    """Syllables (n, BEFORE + 1 + BEHIND) as they would be in audio."""
    begins = torch.empty(len(around), BEHIND).uniform_(SHORTEST_SYLLABLE, LONGEST_SYLLABLE).cumsum(1)
    around[:, BEFORE + 1 :][begins > DELAY] = 0
    draw = torch.rand(around.shape) + (around == 0)
    other = draw < OTHER_TONE
    around[other] = torch.tensor([random.choice(alike[s]) for s in around[other].tolist()], dtype=torch.long)
    wrong = (draw >= OTHER_TONE) & (draw < OTHER_TONE + OTHER_SYLLABLE)
    around[wrong] = torch.randint(1, len(alike), (int(wrong.sum()),))
    return around


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=400000)
    write(parser.parse_args().sentences)
