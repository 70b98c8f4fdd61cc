"""`from_text.py --minutes M --from CHECKPOINT [--sentences N]`: teaches the spelling (spelling.py) with the rest of the network as it is, writes WORK/net.pt.

From text: Tatoeba's training sentences and N drawn ones, as espeak-ng says them, half of each batch from either. What the audio will do to the syllables is
done to them here: some are heard wrong, and of those that follow only as many are known as begin within the delay. And from audio, so that the
spelling adds to what the network hears as much as is right: once, the network says what it hears, and after that only the spelling is computed.
"""

import argparse
import random
import re
import time
from collections import defaultdict
from pathlib import Path

import torch
import torch.nn.functional as F

from batches import batches, disguise, pad, shards_of
from losses import forced
from model import DELAY, Net, told
from spelling import BEFORE, BEHIND
from syllables import syllables_of
from targets import Targets
from text import SentenceSampler, characters, tatoeba
from train import DATA, DEVICE, WORK, continued_net, learning_rate, save

PEAK_RATE = 1e-3
TEXT_CHARACTERS, AUDIO_CHARACTERS = 2048, 768  # of each batch
OTHER_TONE, OTHER_SYLLABLE = 0.04, 0.03  # of the syllables heard
SHORTEST_SYLLABLE, LONGEST_SYLLABLE = 2, 11  # frames of 40 ms
HEARD_BATCHES = 300  # of 12,000 frames


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


class Heard:
    """All places in some of the training's audio where a syllable began: the syllables around it (n, BEFORE + 1 + BEHIND), what the character is
    chosen by but for the spelling (n, channels), and the character to be written there, or 0 (n,)."""

    @torch.no_grad()
    def __init__(self, net: Net, targets: Targets):
        net.eval()
        rng = random.Random(0)
        stream = batches(shards_of(WORK / "train"), targets.character, rng)
        mean = net.mean.cpu()
        parts: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []
        for _ in range(HEARD_BATCHES):
            group = next(stream)
            x, lengths = pad(group)
            x, syllables, _ = net.heard(disguise(x, lengths, mean, rng).to(DEVICE))
            begun, around = told(syllables.argmax(2))
            written = F.log_softmax(net.characters(x + net.spelt(begun, around)), 2).cpu().numpy()
            for row, ((text, _), steps) in enumerate(zip(group, (lengths // 4).tolist(), strict=True)):
                here = begun[row, :steps].nonzero()[:, 0]
                truth = torch.from_numpy(forced(written[row, :steps], [targets.character[c] for c in text]))
                parts.append((around[row, here].cpu(), x[row, here].half().cpu(), truth[here.cpu()]))
        self.around, self.x, self.written = map(torch.cat, zip(*parts, strict=True))

    def drawn(self, count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        at = torch.randint(len(self.written), (count,))
        return self.around[at], self.x[at].float(), self.written[at]

    def usually(self, syllables: int) -> torch.Tensor:
        """(syllables, channels): the mean of what characters are chosen by, of all places in which a syllable is heard."""
        of = self.around[:, BEFORE]
        total = torch.zeros(syllables, self.x.shape[1]).index_add_(0, of, self.x.float())
        count = torch.zeros(syllables, 1).index_add_(0, of, torch.ones(len(of), 1))
        return (total + self.x.float().mean(0)) / (count + 1)


def from_text(minutes: float, start_from: Path, sentences: int):
    torch.manual_seed(0)
    random.seed(0)
    torch.set_flush_denormal(True)
    targets = Targets(DATA, WORK)
    (WORK / "tokens.txt").write_text(targets.text(), encoding="utf-8")
    net = continued_net(targets, start_from).to(DEVICE).requires_grad_(False)
    audio = Heard(net, targets)
    usual = audio.usually(targets.sizes[1]).to(DEVICE)
    texts = [Text(said, targets) for said in sayings(sentences)]
    print(f"{sum(len(text.places) for text in texts)} characters in text, {len(audio.written)} in audio", flush=True)
    alike = other_tones(targets)
    spelling = net.spelling.requires_grad_(True).train()
    # In its place the network knows more than the mean does: there, less of the spelling is right than in text.
    more = torch.nn.Parameter(torch.tensor(3.0, device=DEVICE))
    optimizer = torch.optim.AdamW([{"params": list(spelling.parameters())}, {"params": [more], "lr": 1e-2, "weight_decay": 0}], weight_decay=1e-2)
    began = time.monotonic()
    step, shown = 0, [0.0] * 2
    while (done := (time.monotonic() - began) / 60 / minutes) < 1:
        optimizer.param_groups[0]["lr"] = learning_rate(PEAK_RATE, step, done)
        around, written = map(torch.cat, zip(*(text.drawn(TEXT_CHARACTERS // len(texts)) for text in texts), strict=True))
        around = misheard(around, alike).to(DEVICE)
        of_text = F.cross_entropy(net.characters(usual[around[:, BEFORE]] + more * spelling(around)), written.to(DEVICE))
        around, x, written = (part.to(DEVICE) for part in audio.drawn(AUDIO_CHARACTERS))
        of_audio = F.cross_entropy(net.characters(x + spelling(around)), written)
        optimizer.zero_grad(set_to_none=True)
        (of_text + of_audio).backward()
        optimizer.step()
        step += 1
        shown = [old + (0.02 if step > 1 else 1) * (new.item() - old) for old, new in zip(shown, (of_text, of_audio), strict=True)]
        if step % 100 == 0:
            passed = (time.monotonic() - began) / 60
            print("step {}, {:.1f} min: text {:.3f}, audio {:.3f}, {:.2f} times in text".format(step, passed, *shown, more.item()), flush=True)
    save(net, net)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--from", dest="start_from", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=400000)
    arguments = parser.parse_args()
    from_text(arguments.minutes, arguments.start_from, arguments.sentences)
