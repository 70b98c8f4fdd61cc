"""The likeliest characters of a place, judged again by those beside them.

The network and its spelling choose each character by what is heard, without knowing which character was chosen before: each of two may be right for itself and
both together be no word. Here each of the CANDIDATES gets, beside what the network gives it, how much likelier than by chance it is after the
character before (of which BEFORE are still likely), with the syllable heard in its place, and in front of the syllable heard next, for which the character before counts again. That is a product
of experts (Hinton, "Training Products of Experts by Minimizing Contrastive Divergence", 2002), three of which count text (ngrams.py). Of each syllable HEARD are likely.
Only the order of the candidates changes: where the network writes nothing, nothing is written, and the likeliest candidate is as likely as the network's was.
"""

import numpy as np
import torch
from torch import nn

import spelling

CANDIDATES, BEFORE, HEARD = 10, 4, 8
WITHIN = 9.0  # of the likeliest candidate's logarithm
# What a logarithm of each expert counts, where one of the network counts 1: after the character before, with its syllable, in front of the next one. Fitted to 1,000 drawn sentences as
# the fifteenth model heard them (0.66, 0.41, 0.80).
WEIGHTS = 0.65, 0.4, 0.8
LEVELS, TRIPLE_LEVELS = 64, 32  # that a likelihood may have; 0 is that of all not listed
# Triples are found by what they add up to: each has one cell, and a mark in it to be told from others by. Both prime.
CELLS, MARK = 179999, 2039
STATE = 2 * BEFORE - 1
Likely = tuple[torch.Tensor, torch.Tensor]
"""Numbers and their probabilities, (..., n) each."""


def cell(before, character, syllable):
    """Arrays or tensors of whole numbers -> where the triple stands."""
    return (before * 48271 + character * 69621 + syllable * 16807) % CELLS


def mark(before, character, syllable):
    return (before * 1009 + character * 331 + syllable * 97) % MARK + 1


def heard(syllables: torch.Tensor) -> Likely:
    """Logits (batch, frames, syllables) -> the HEARD likeliest of each frame."""
    logarithms, numbers = syllables.log_softmax(2).topk(HEARD)
    return numbers, logarithms.exp()


def at(frames: torch.Tensor, likely: Likely) -> Likely:
    """What is likely in these frames, (batch, n)."""
    index = frames[:, :, None].expand(-1, -1, HEARD)
    return likely[0].gather(1, index), likely[1].gather(1, index)


class Rescoring(nn.Module):
    """`counts`: of ngrams.py."""

    def __init__(self, counts: dict[str, np.ndarray]):
        super().__init__()
        characters, self.columns = counts["levels"].shape
        of_each = BEFORE, HEARD, HEARD
        # Where the columns of each expert start, and its levels.
        starts = 0, characters, characters + (self.columns - characters) // 2
        self.register_buffer("starts", torch.from_numpy(np.repeat(starts, of_each)))
        self.register_buffer("experts", torch.from_numpy(np.repeat(np.arange(3) * LEVELS, of_each)))
        self.register_buffer("table", torch.from_numpy(counts["levels"]).flatten())
        self.register_buffer("worth", torch.from_numpy(counts["worth"]).flatten())
        # PyTorch has no unsigned 16 bits: see _with_before.
        self.register_buffer("cells", torch.from_numpy(counts["cells"].view(np.int16)))
        self.register_buffer("triple_worth", torch.from_numpy(counts["triple_worth"]))
        self.register_buffer("usual", torch.from_numpy(counts["usual"]) * WEIGHTS[0])

    def forward(
        self, logits: torch.Tensor, due: torch.Tensor, around: torch.Tensor, now: Likely, following: Likely, state: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits (batch, frames, characters), and what they are in the end. Where a syllable is `due` (not 0): what is heard in its place, and `around` it (spelling.around), and where
        the next one began (of no account where none is known). `state` (batch, STATE): the characters likely in the last place, zeros at first."""
        values, candidates = logits[:, :, 1:].topk(CANDIDATES)
        candidates = candidates + 1
        written = (due > 0) & (values[:, :, 0] > logits[:, :, 0])
        before, state = self._before(candidates, values, written, state)
        # After a long silence it is as at the start: 0 stands for the character before the first one.
        known = around[:, :, spelling.BEFORE - 1 : spelling.BEFORE] > 0
        numbers, share = before[:, :, :BEFORE].long() * known, before[:, :, BEFORE:] * known
        evidence = torch.cat([numbers, now[0], following[0]], 2) + self.starts
        likely = torch.cat([1 - share.sum(2, keepdim=True), share, now[1], following[1]], 2)
        pairs = candidates[:, :, :, None] * self.columns + evidence[:, :, None]
        worth = self.worth[self.table[pairs].long() + self.experts] * likely[:, :, None]
        after, sound, in_front = worth.split([BEFORE, HEARD, HEARD], 3)
        in_front = in_front * self._with_before(numbers[:, :, :1], candidates, following[0])
        after, sound, in_front = (part.sum(3).log() for part in (after, sound, in_front))
        in_front = torch.where(around[:, :, spelling.BEFORE + 1, None] > 0, in_front, torch.zeros_like(in_front))
        scores = values + self.usual[candidates] + WEIGHTS[0] * after + WEIGHTS[1] * sound + WEIGHTS[2] * in_front
        best = values[:, :, :1]
        within = (values >= best - WITHIN) & written[:, :, None]
        scores = torch.where(within, scores, torch.full_like(scores, -1e4))
        judged = torch.where(within, best + scores - scores.amax(2, keepdim=True), values)
        return logits.scatter(2, candidates, judged), state

    def _with_before(self, before: torch.Tensor, candidates: torch.Tensor, syllables: torch.Tensor) -> torch.Tensor:
        """How much likelier each syllable is behind each candidate if the one before is known, (batch, frames, candidates, syllables). Where a triple is not listed, by what its pair says of all others."""
        unnamed = torch.zeros_like(syllables[:, :, :1])
        names = before[:, :, None], candidates[:, :, :, None], torch.cat([unnamed, syllables], 2)[:, :, None]
        found = self.cells[cell(*names)].long() % (1 << 16)
        level = torch.where(found // TRIPLE_LEVELS == mark(*names), found % TRIPLE_LEVELS, torch.zeros_like(found))
        others, level = level[:, :, :, :1], level[:, :, :, 1:]
        return self.triple_worth[torch.where(level > 0, level, others.expand_as(level))]

    def _before(self, candidates: torch.Tensor, values: torch.Tensor, written: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """For each frame what was likely where something was written last, (batch, frames, STATE): BEFORE numbers, and the probabilities of all but the first. And the next state."""
        probabilities = values[:, :, :BEFORE].softmax(2)[:, :, 1:]
        likely = torch.cat([candidates[:, :, :BEFORE].to(values.dtype), probabilities], 2)
        # What was written stands in its place in a list behind the state, and what is none in a place of its own at the end.
        count = written.long().cumsum(1)
        frames = likely.shape[1]
        place = torch.where(written, count, torch.full_like(count, frames + 1))
        empty = torch.cat([state[:, None], torch.zeros_like(likely), torch.zeros_like(state[:, None])], 1)
        listed = empty.scatter(1, place[:, :, None].expand(-1, -1, STATE), likely)
        last = (count - written.long())[:, :, None].expand(-1, -1, STATE)
        return listed.gather(1, last), listed.gather(1, count[:, -1:, None].expand(-1, -1, STATE))[:, 0]
