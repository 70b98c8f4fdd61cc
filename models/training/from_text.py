"""`from_text.py --minutes M --from CHECKPOINT [--sentences N]`: teaches the spelling (spelling.py) from text alone, writes WORK/net.pt.

Tatoeba's training sentences and N drawn ones, as espeak-ng says them, half of each batch from either. What the audio will do to the syllables is
done to them here: some are heard wrong, and of those that follow only as many are known as begin within the delay.
"""

import argparse
import math
import random
import re
import time
from collections import defaultdict
from pathlib import Path

import torch
import torch.nn.functional as F

from model import DELAY
from spelling import BEFORE, BEHIND, Spelling
from syllables import syllables_of
from targets import Targets
from text import SentenceSampler, characters, tatoeba
from train import DATA, DEVICE, WORK, continued_net, learning_rate, save

PEAK_RATE = 2e-3
BATCH_CHARACTERS = 2048
OTHER_TONE, OTHER_SYLLABLE = 0.04, 0.03  # of the syllables heard
SHORTEST_SYLLABLE, LONGEST_SYLLABLE = 2, 11  # frames of 40 ms
# The network has learnt to do without the spelling. Of 0, 0.15, 0.3, 0.45, 0.6 and 0.8 of it, 0.15 was the best at first, and 0.3 next (audio not trained on).
ADDED = 0.2


class Text:
    """Sentences one behind the other, with room between them: what is written, and what is said."""

    def __init__(self, said: dict[str, list[str]], targets: Targets):
        written, heard = [0] * BEFORE, [0] * BEFORE
        known = {s: i for i, s in enumerate(targets.inventory)}
        for text, syllables in said.items():
            if known.keys() >= set(syllables) and targets.character.keys() >= set(text):
                written += [*(targets.character[c] for c in text), *[0] * (BEFORE + BEHIND)]
                heard += [*(known[s] for s in syllables), *[0] * (BEFORE + BEHIND)]
        self.written, self.heard = torch.tensor(written), torch.tensor(heard)
        self.places = self.written.nonzero()[:, 0]

    def drawn(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """(count, BEFORE + 1 + BEHIND) syllables, (count,) characters."""
        at = self.places[torch.randint(len(self.places), (count,))]
        return self.heard[at[:, None] + torch.arange(-BEFORE, BEHIND + 1)], self.written[at]


def sayings(count: int) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Tatoeba's training sentences and drawn ones, with their syllables."""
    sentences, held_out = tatoeba(DATA / "sentences.txt.gz")
    sampler, rng = SentenceSampler(sentences), random.Random(0)
    drawn = {characters(sampler.sentence(rng)) for _ in range(count)} - {characters(s) for s in held_out}
    return syllables_of(sorted({characters(s) for s in sentences})), syllables_of(sorted(drawn))


def other_tones(targets: Targets) -> list[list[int]]:
    """For each syllable the numbers of those that differ from it in the tone at most."""
    bases = [re.sub("[0-9]", "", s) for s in targets.inventory]
    numbers = defaultdict(list)
    for number, base in enumerate(bases):
        numbers[base].append(number)
    return [numbers[base] for base in bases]


def misheard(around: torch.Tensor, alike: list[list[int]]) -> torch.Tensor:
    around = around.clone()
    begins = torch.empty(len(around), BEHIND).uniform_(SHORTEST_SYLLABLE, LONGEST_SYLLABLE).cumsum(1)
    around[:, BEFORE + 1 :][begins > DELAY] = 0
    draw = torch.rand(around.shape) + (around == 0)
    other = draw < OTHER_TONE
    around[other] = torch.tensor([random.choice(alike[s]) for s in around[other].tolist()], dtype=torch.long)
    wrong = (draw >= OTHER_TONE) & (draw < OTHER_TONE + OTHER_SYLLABLE)
    around[wrong] = torch.randint(1, len(alike), (int(wrong.sum()),))
    return around


def from_text(minutes: float, start_from: Path, sentences: int):
    torch.manual_seed(0)
    random.seed(0)
    torch.set_flush_denormal(True)
    targets = Targets(DATA, WORK)
    (WORK / "tokens.txt").write_text(targets.text(), encoding="utf-8")
    net = continued_net(targets, start_from).to(DEVICE).requires_grad_(False)
    texts = [Text(said, targets) for said in sayings(sentences)]
    print(f"{sum(len(text.places) for text in texts)} characters", flush=True)
    alike = other_tones(targets)
    spelling = Spelling(targets.sizes[1], net.characters.in_features).to(DEVICE)
    torch.nn.init.kaiming_uniform_(spelling.out.weight, math.sqrt(5))
    optimizer = torch.optim.AdamW(spelling.parameters(), weight_decay=1e-2)
    began = time.monotonic()
    step, shown = 0, 0.0
    while (done := (time.monotonic() - began) / 60 / minutes) < 1:
        optimizer.param_groups[0]["lr"] = learning_rate(PEAK_RATE, step, done)
        around, written = map(torch.cat, zip(*(text.drawn(BATCH_CHARACTERS // len(texts)) for text in texts), strict=True))
        logits = net.characters(spelling(misheard(around, alike).to(DEVICE)))
        loss = F.cross_entropy(logits, written.to(DEVICE))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        shown += (0.02 if step > 1 else 1) * (loss.item() - shown)
        if step % 100 == 0:
            print(f"step {step}, {(time.monotonic() - began) / 60:.1f} min: {shown:.3f}", flush=True)
    with torch.no_grad():
        spelling.out.weight.mul_(ADDED)
        spelling.out.bias.mul_(ADDED)
    net.spelling = spelling
    save(net, net)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--from", dest="start_from", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=400000)
    arguments = parser.parse_args()
    from_text(arguments.minutes, arguments.start_from, arguments.sentences)
