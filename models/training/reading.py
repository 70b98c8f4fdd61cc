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
from multiprocessing import Pool

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
NUMBERS = "numbers"
CHARACTERS = {"own": 1024, "drawn": 1024}  # in a step, of all processes
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
    with Pool() as pool:
        said = zip(sorted(texts), pool.imap(syllables, sorted(texts), chunksize=2000), strict=True)
        return {text: heard for text, heard in said if len(heard) == len(text)}


def write(sentences: int):
    own, held_out = tatoeba(DATA / "sentences.txt.gz")
    sampler, rng = SentenceSampler(own), random.Random(0)
    banned = {characters(s) for s in held_out}
    drawn = [s for s in dict.fromkeys(sampler.sentence(rng) for _ in range(sentences)) if characters(s) not in banned]
    (WORK / DRAWN).write_text("\n".join(drawn), encoding="utf-8")
    texts = {"own": own, "drawn": drawn}
    if (WORK / DEBIAN).exists():
        texts["debian"] = (WORK / DEBIAN).read_text(encoding="utf-8").split("\n")
    targets = Targets(DATA, WORK)
    parts = {name: numbered(pronounced({characters(s) for s in part}), targets) for name, part in texts.items()}
    partial = (WORK / FILE).with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, **{NUMBERS: numbers_of(targets)}, **parts)
    partial.rename(WORK / FILE)
    for name, part in parts.items():
        print(f"{name}: {(part[0] > 0).sum()} characters", flush=True)


def numbers_of(targets: Targets) -> np.ndarray:
    """What the numbers stand for: another espeak-ng, or other sentences, and they stand for something else."""
    return np.array([*targets.tokens, *targets.inventory])


def known_parts(names: Iterable[str], targets: Targets) -> dict[str, np.ndarray]:
    """(2, n) each of those that there are."""
    file = WORK / FILE
    if not file.exists():
        raise SystemExit(f"no {file}: run reading.py first")
    with np.load(file) as parts:
        if NUMBERS not in parts or not np.array_equal(parts[NUMBERS], numbers_of(targets)):
            raise SystemExit(f"{file} numbers other characters or syllables than there are now: run reading.py again")
        return {name: parts[name] for name in names if name in parts}


def all_parts(names: Iterable[str], targets: Targets) -> list[torch.Tensor]:
    parts = known_parts(names, targets)
    missing = [name for name in names if name not in parts]
    if missing:
        raise SystemExit(f"{WORK / FILE} has no part {', '.join(missing)}: run debian_texts.py, then reading.py")
    return [torch.from_numpy(parts[name]) for name in names]


class Reading:
    """`counts`: characters of each part in a step."""

    def __init__(self, targets: Targets, device: str, counts: dict[str, int]):
        self.parts = [part.to(device) for part in all_parts(counts, targets)]
        self.counts = list(counts.values())
        self.places = [written.nonzero()[:, 0] for written, _ in self.parts]
        self.alike = Alike(targets.inventory, device)
        self.total = torch.zeros(len(targets.inventory), CHANNELS, device=device)
        self.heard = torch.zeros(len(targets.inventory), 1, device=device)
        self.window = torch.arange(-BEFORE, BEHIND + 1, device=device)

    @torch.no_grad()
    def remember(self, x: torch.Tensor, begun: torch.Tensor):
        """x (batch, frames, channels): what characters are chosen by, but for the spelling; begun (batch, frames): the syllables to be written there, or 0."""
        of = begun.flatten()
        here = (of > 0).float()[:, None]
        self.total.mul_(REMEMBERED).index_add_(0, of, x.flatten(0, 1).float() * here)
        self.heard.mul_(REMEMBERED).index_add_(0, of, here)

    def loss(self, net: Net) -> torch.Tensor:
        """Cross-entropy of the characters in some places; nothing as long as little was heard."""
        if self.heard.sum() < ENOUGH:
            return net.mean.new_zeros(())
        at = [places[torch.randint(len(places), (n,), device=places.device)] for places, n in zip(self.places, self.counts, strict=True)]
        written = torch.cat([part[0][a] for part, a in zip(self.parts, at, strict=True)]).long()
        said = self.alike.misheard(torch.cat([part[1][a[:, None] + self.window] for part, a in zip(self.parts, at, strict=True)]).long())
        usual = (self.total + self.total.sum(0) / (self.heard.sum() + 1)) / (self.heard + 1)
        chosen_by = usual[said[:, BEFORE]] + MORE * net.spelling(said)
        logits = F.linear(chosen_by, net.characters.weight.detach(), net.characters.bias.detach())
        return F.cross_entropy(logits.float(), written)


class Alike:
    """For each syllable those that differ from it in the tone at most."""

    def __init__(self, inventory: list[str], device: str):
        numbers = defaultdict(list)
        bases = [re.sub("[0-9]", "", s) for s in inventory]
        for number, base in enumerate(bases):
            numbers[base].append(number)
        most = max(map(len, numbers.values()))
        self.rows = torch.tensor([numbers[base] + [0] * (most - len(numbers[base])) for base in bases], device=device)
        self.counts = torch.tensor([len(numbers[base]) for base in bases], device=device)

    def misheard(self, around: torch.Tensor) -> torch.Tensor:
        """Syllables (n, BEFORE + 1 + BEHIND) as they would be in audio."""
        begins = torch.empty(len(around), BEHIND, device=around.device).uniform_(SHORTEST_SYLLABLE, LONGEST_SYLLABLE).cumsum(1)
        around[:, BEFORE + 1 :] *= begins <= DELAY
        draw = torch.rand(around.shape, device=around.device) + (around == 0)
        pick = (torch.rand(around.shape, device=around.device) * self.counts[around]).long()
        around = torch.where(draw < OTHER_TONE, self.rows[around, pick], around)
        wrong = (draw >= OTHER_TONE) & (draw < OTHER_TONE + OTHER_SYLLABLE)
        return torch.where(wrong, torch.randint_like(around, 1, len(self.rows)), around)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=400000)
    write(parser.parse_args().sentences)
