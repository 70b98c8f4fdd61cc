"""`reading.py [--sentences N]`: what the spelling (spelling.py) learns beside the audio, WORK/reading.npz: Tatoeba's training sentences, N drawn ones, which are also
written to WORK/drawn.txt, and those of debian_texts.py where it has run, as espeak-ng says them.

train.py shows it some of that in every step. What the audio does to the syllables is done to them here: some are heard wrong, and of those that
follow only as many are known as begin within the delay. What the network knows without the spelling is, in text, the mean of what it lately knew in
audio where it heard that syllable. Only the spelling is taught by this.
"""

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from debian_texts import FILE as DEBIAN
from folders import DATA, WORK
from model import CHANNELS, DELAY, Net
from phonemes import syllables
from spelling import BEFORE, BEHIND
from targets import Targets
from text import SentenceSampler, characters, tatoeba

FILE, DRAWN = "reading.npz", "drawn.txt"
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
    for text, sounds in said.items():
        if known.keys() >= set(sounds) and targets.character.keys() >= set(text):
            written += [*(targets.character[c] for c in text), *[0] * (BEFORE + BEHIND)]
            heard += [*(known[s] for s in sounds), *[0] * (BEFORE + BEHIND)]
    return np.array([written, heard], np.int16)


def pronounced(texts: set[str]) -> dict[str, list[str]]:
    return {text: said for text in sorted(texts) if len(said := syllables(text)) == len(text)}


def write(sentences: int):
    own, held_out = tatoeba(DATA / "sentences.txt.gz")
    sampler, rng = SentenceSampler(own), random.Random(0)
    banned = {characters(s) for s in held_out}
    drawn = [s for s in (sampler.sentence(rng) for _ in range(sentences)) if characters(s) not in banned]
    (WORK / DRAWN).write_text("\n".join(drawn), encoding="utf-8")
    texts = {"own": own, "drawn": drawn}
    if (WORK / DEBIAN).exists():
        texts["debian"] = (WORK / DEBIAN).read_text(encoding="utf-8").split("\n")
    targets = Targets(DATA, WORK)
    parts = {name: numbered(pronounced({characters(s) for s in part}), targets) for name, part in texts.items()}
    partial = (WORK / FILE).with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, **parts)
    partial.rename(WORK / FILE)
    for name, part in parts.items():
        print(f"{name}: {(part[0] > 0).sum()} characters", flush=True)


def parts_of(file: Path, names: Iterable[str]) -> list[torch.Tensor]:
    """(2, n) each."""
    if not file.exists():
        raise SystemExit(f"no {file}: run reading.py first")
    with np.load(file) as parts:
        missing = [name for name in names if name not in parts]
        if missing:
            raise SystemExit(f"{file} has no part {', '.join(missing)}: run debian_texts.py, then reading.py")
        return [torch.from_numpy(parts[name]) for name in names]


def of_text(net: Net, said: torch.Tensor, written: torch.Tensor, total: torch.Tensor, heard: torch.Tensor) -> torch.Tensor:
    """Of the spelling alone: said (n, BEFORE + 1 + BEHIND) syllables, written (n) characters, and what the network lately knew where it heard each syllable."""
    usual = (total + total.sum(0) / (heard.sum() + 1)) / (heard + 1)
    chosen_by = usual[said[:, BEFORE]] + MORE * net.spelling(said)
    logits = F.linear(chosen_by, net.characters.weight.detach(), net.characters.bias.detach())
    return F.cross_entropy(logits.float(), written)


class Reading:
    def __init__(self, targets: Targets, processes: int = 1):
        self.parts = parts_of(WORK / FILE, ("own", "drawn"))
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
        device = net.mean.device
        return of_text(net, said.to(device), written.to(device), self.total.to(device), self.heard.to(device))


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
