"""CTC, the alignment that gets it started, and what the tones are told by."""

import numpy as np
import torch
import torch.nn.functional as F

from batches import Utterance
from model import DELAY


def ctc(logits: torch.Tensor, steps: torch.Tensor, targets: list[list[int]]) -> torch.Tensor:
    log_probabilities = F.log_softmax(logits.float(), -1).transpose(0, 1)
    flat = torch.tensor([t for target in targets for t in target], device=logits.device)
    sizes = torch.tensor([len(t) for t in targets])
    losses = F.ctc_loss(log_probabilities, flat, steps, sizes, reduction="none", zero_infinity=True)
    return losses.sum() / sizes.sum()


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


def of_tones(logits: torch.Tensor, written: torch.Tensor, steps: torch.Tensor, tones: list[list[int] | None]) -> torch.Tensor:
    """Cross-entropy where each character was heard: DELAY frames before the network writes it. Utterances with another number of characters say nothing.

    logits: (batch, frames, tones), written: (batch, frames, characters).
    """
    rows, frames, truth = [], [], []
    for row, (best, end, contours) in enumerate(zip(written.argmax(-1).tolist(), steps.tolist(), tones, strict=True)):
        at = [i for i, (a, b) in enumerate(zip([0, *best], best[:end], strict=False)) if b and b != a]
        if contours is None or len(at) != len(contours):
            continue
        heard = [(i - DELAY, tone) for i, tone in zip(at, contours, strict=True) if i >= DELAY]
        rows += [row] * len(heard)
        frames += [i for i, _ in heard]
        truth += [tone for _, tone in heard]
    if not truth:  # The network is not there yet, or the batch has no words.
        return logits.sum() * 0
    return F.cross_entropy(logits[rows, frames].float(), torch.tensor(truth, device=logits.device))
