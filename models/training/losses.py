"""CTC, the alignment that gets it started, and what the tones are told by."""

import numpy as np
import torch
import torch.nn.functional as F

from batches import Utterance
from model import DELAY


def ctc(logits: torch.Tensor, steps: torch.Tensor, targets: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """targets: of all utterances, one behind the other; steps and counts (batch) on the CPU: frames, and targets, of each."""
    log_probabilities = F.log_softmax(logits.float(), -1).transpose(0, 1)
    losses = F.ctc_loss(log_probabilities, targets, steps, counts, reduction="none", zero_infinity=True)
    return losses.sum() / int(counts.sum())


def aligned(
    logits: torch.Tensor, group: list[Utterance], targets: list[list[int]], steps: torch.Tensor, late: int
) -> torch.Tensor:
    """Cross-entropy on characters spread evenly over the loud part, `late` frames of 40 ms behind."""
    truth = torch.zeros(logits.shape[:2], dtype=torch.long)
    weight = torch.ones(logits.shape[:2])
    for i, ((_, frames), target) in enumerate(zip(group, targets, strict=True)):
        level = frames.astype(np.float32).mean(1)
        floor = np.percentile(level, 5)
        loud = np.where(level >= floor + 0.35 * (level.max() - floor))[0]
        start, span = loud[0] / 4, (loud[-1] - loud[0]) / 4
        for n, t in enumerate(target):
            a, b = start + span * (n + 0.15) / len(target), start + span * (n + 1) / len(target)
            truth[i, round(a) + late : round(b) + late] = t
        weight[i, truth[i] == 0] = 0.3
        weight[i, steps[i] :] = 0
    losses = F.cross_entropy(logits.float().transpose(1, 2), truth.to(logits.device), reduction="none")
    return (losses * weight.to(logits.device)).sum() / weight.sum()


def heard_at(written: list[int], characters: int) -> list[int] | None:
    """The frames in which the characters were heard: DELAY before the network writes them. None unless it writes as many.

    written: the likeliest character, or 0, of each frame.
    """
    begun = [i for i, (before, now) in enumerate(zip([0, *written], written, strict=False)) if now and now != before]
    return [i - DELAY for i in begun] if len(begun) == characters else None


def of_tones(logits: torch.Tensor, heard: list[list[int] | None], tones: list[list[int] | None]) -> torch.Tensor:
    """Cross-entropy where each character was heard. Utterances of which one is not known say nothing. logits: (batch, frames, tones)."""
    rows, frames, truth = [], [], []
    for row, (at, contours) in enumerate(zip(heard, tones, strict=True)):
        if at is None or contours is None:
            continue
        known = [(frame, tone) for frame, tone in zip(at, contours, strict=True) if frame >= 0]
        rows += [row] * len(known)
        frames += [frame for frame, _ in known]
        truth += [tone for _, tone in known]
    if not truth:  # The network is not there yet, or the batch has no words.
        return logits.sum() * 0
    return F.cross_entropy(logits[rows, frames].float(), torch.tensor(truth, device=logits.device))
