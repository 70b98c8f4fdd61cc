"""Which character a syllable is written as, told by the syllables around it.

Convolutions over frames hardly learn that: how many frames lie between two syllables is another number each time. Here a syllable's
neighbours have fixed places. What is heard as a syllable is decided first (no gradient goes through that); so the words
can also be learnt from text (reading.py): some 12,000 characters a second on one core, and 150 on two from audio.
Beside the network's rules stands a list, of what follows from two or three syllables that stand together. Their numbers are folded into
as many rows as the list has, and what falls into one row shares it (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning", 2009).
"""

import torch
import torch.nn.functional as F
from torch import nn

BEFORE, BEHIND = 3, 2  # syllables
EMBEDDING, HIDDEN = 64, 1024
# The syllables that stand together, by their place: 0 is the one to be written.
GROUPS = ((-1, 0), (0, 1), (-1, 0, 1))
ROWS, WIDTH = 32749, 16  # of each group's list; a prime number of rows
FOLDS = 1, 48271, 69621
# Frames of 40 ms: what was said longer ago than this tells nothing any more.
REACH = 64
# Of the syllables that it is told, some are withheld in training, to make Tatoeba's sentences harder to learn by heart.
WITHHELD = 0.05


class Spelling(nn.Module):
    """(n, BEFORE + 1 + BEHIND) syllables, 0 where none is known -> (n, channels)"""

    def __init__(self, syllables: int, channels: int):
        super().__init__()
        self.embedding = nn.Embedding(syllables, EMBEDDING)
        self.hidden = nn.Linear((BEFORE + 1 + BEHIND) * EMBEDDING, HIDDEN)
        self.groups = nn.Embedding(len(GROUPS) * ROWS, WIDTH)
        nn.init.normal_(self.groups.weight, std=0.02)
        self.out = nn.Linear(HIDDEN + len(GROUPS) * WIDTH, channels)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, around: torch.Tensor) -> torch.Tensor:
        if self.training:
            around = around * (torch.rand(around.shape, device=around.device) >= WITHHELD)
        ruled = F.relu(self.hidden(self.embedding(around).flatten(1)))
        return self.out(torch.cat([ruled, self.groups(rows(around)).flatten(1)], 1))


def rows(around: torch.Tensor) -> torch.Tensor:
    """(n, BEFORE + 1 + BEHIND) syllables -> (n, groups): where each group stands in the list."""
    folded = [sum(around[:, BEFORE + place] * fold for place, fold in zip(group, FOLDS, strict=False)) % ROWS for group in GROUPS]
    return torch.stack([row + number * ROWS for number, row in enumerate(folded)], 1)


def begun(best: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
    """(batch, frames) likeliest syllables, and that of the frame before (batch, 1) -> each syllable in its first frame, 0 elsewhere."""
    return best * (best != torch.cat([before, best[:, :-1]], 1))


def around(begun: torch.Tensor, delay: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(batch, frames, BEFORE + 1 + BEHIND): the syllables around the last one that had begun `delay` frames before, as far as they are known
    in that frame: nothing that begins later, or began REACH frames before. And the frames in which they began, of no account where none is known."""
    frames = begun.shape[1]
    heard = (begun > 0).to(begun.dtype)
    count = heard.cumsum(1)
    # The n-th syllable, and the frame it began in, stand in place n of a list; what is none, in place 0.
    place, empty = count * heard, F.pad(torch.zeros_like(begun), (0, 1))
    now = torch.arange(frames, device=begun.device)
    listed, when = empty.scatter(1, place, begun), empty.scatter(1, place, now.expand_as(begun))
    middle = F.pad(count, (delay, 0))[:, :frames]
    wanted = middle[:, :, None] + torch.arange(-BEFORE, BEHIND + 1, device=begun.device)
    at = wanted.clamp(0, frames).flatten(1)
    began = when.gather(1, at).view(wanted.shape)
    known = (wanted > 0) & (wanted <= count[:, :, None]) & (began > now[:, None] - REACH)
    return listed.gather(1, at).view(wanted.shape) * known, began
