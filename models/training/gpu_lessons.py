"""lessons.py and reading.Reading for a GPU: nothing is looked up one by one, and nothing waits for the GPU but where it must."""

import torch
import torch.nn.functional as F

import reading
import spelling
from folders import WORK
from model import CHANNELS, DELAY, Net
from pool import Batch
from reading import LONGEST_SYLLABLE, OTHER_SYLLABLE, OTHER_TONE, REMEMBERED, SHORTEST_SYLLABLE
from spelling import BEFORE, BEHIND
from targets import Targets

# Characters in a step.
READ = {"own": 10240, "drawn": 20480, "debian": 10240}


class Text:
    """What the spelling learns from text alone."""

    def __init__(self, targets: Targets, device: str):
        parts = reading.parts_of(WORK / reading.FILE, READ)
        self.parts = [part.to(device) for part in parts]
        self.places = [part[0].nonzero()[:, 0] for part in self.parts]
        rows = reading.alike(targets.inventory)
        most = max(map(len, rows))
        self.alike = torch.tensor([row + row[:1] * (most - len(row)) for row in rows], device=device)
        self.choices = torch.tensor([len(row) for row in rows], device=device)
        self.total = torch.zeros(len(rows), CHANNELS, device=device)
        self.heard = torch.zeros(len(rows), 1, device=device)
        self.window = torch.arange(-BEFORE, BEHIND + 1, device=device)

    @torch.no_grad()
    def remember(self, x: torch.Tensor, begun: torch.Tensor):
        """As Reading.remember."""
        of, here = begun.flatten(), (begun.flatten() > 0).float()[:, None]
        self.total.mul_(REMEMBERED).index_add_(0, of, x.detach().flatten(0, 1).float() * here)
        self.heard.mul_(REMEMBERED).index_add_(0, of, here)

    def misheard(self, around: torch.Tensor) -> torch.Tensor:
        """As reading.misheard."""
        begins = torch.empty(len(around), BEHIND, device=around.device).uniform_(SHORTEST_SYLLABLE, LONGEST_SYLLABLE).cumsum(1)
        around[:, BEFORE + 1 :] *= begins <= DELAY
        draw = torch.rand(around.shape, device=around.device) + (around == 0)
        pick = (torch.rand(around.shape, device=around.device) * self.choices[around]).long()
        around = torch.where(draw < OTHER_TONE, self.alike[around, pick], around)
        wrong = (draw >= OTHER_TONE) & (draw < OTHER_TONE + OTHER_SYLLABLE)
        return torch.where(wrong, torch.randint_like(around, 1, len(self.alike)), around)

    def loss(self, net: Net) -> torch.Tensor:
        drawn = [p[torch.randint(len(p), (n,), device=p.device)] for p, n in zip(self.places, READ.values(), strict=True)]
        written = torch.cat([part[0][at] for part, at in zip(self.parts, drawn, strict=True)]).long()
        said = torch.cat([part[1][at[:, None] + self.window] for part, at in zip(self.parts, drawn, strict=True)]).long()
        return reading.of_text(net, self.misheard(said), written, self.total, self.heard)


def ctc(logits: torch.Tensor, steps: torch.Tensor, targets: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """losses.ctc of targets one behind the other; steps and counts (rows) on the CPU."""
    log_probabilities = F.log_softmax(logits.float(), -1).transpose(0, 1)
    each = F.ctc_loss(log_probabilities, targets, steps, counts, reduction="none", zero_infinity=True)
    return each.sum() / int(counts.sum())


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
    def __init__(self, targets: Targets, device: str):
        self.text = Text(targets, device)
        self.of_syllable = torch.tensor(targets.tone, device=device)
        self.device = device

    def losses(self, net: Net, batch: Batch) -> list[torch.Tensor]:
        """Of the characters, of the syllables, of the tones, of text."""
        with torch.autocast(self.device, dtype=torch.bfloat16):
            chosen_by, syllables, tones = net.heard(batch.x)
            characters, begun = net.written(chosen_by, syllables)
        steps, known = batch.frames // 4, batch.known.nonzero()[:, 0]
        of_known = batch.known.repeat_interleave(batch.counts).nonzero()[:, 0].to(self.device)
        self.text.remember(chosen_by, begun)
        with torch.autocast(self.device, dtype=torch.bfloat16):
            of_text = self.text.loss(net)
        return [
            ctc(characters, steps, batch.written, batch.counts),
            ctc(syllables[known.to(self.device)], steps[known], batch.said[of_known], batch.counts[known]),
            of_tones(tones, characters, batch, self.of_syllable),
            of_text,
        ]
