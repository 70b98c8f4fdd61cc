"""`average.py CHECKPOINT [--share S]`: the mean of WORK/net.pt's weights, S of it, and of those it went on from (CHECKPOINT), as WORK/averaged.pt.

Where the training stopped in some direction by chance, the mean is nearer to the middle. What the batch normalisations take for the mean and the
spread of their inputs is measured again, on the training's audio: what two networks measured does not fit a third (Izmailov et al.,
"Averaging Weights Leads to Wider Optima and Better Generalization", 2018, section 3.2).
"""

import argparse
import random
from pathlib import Path

import torch

from batches import batches, disguise, pad, shards_of
from folders import WORK
from model import Net
from noise import Noise
from pauses import Pauses

BATCHES = 80  # of 12,000 frames, 2.7 hours at most
Weights = dict[str, torch.Tensor]


def trained(checkpoint: Path) -> Weights:
    return torch.load(checkpoint, map_location="cpu")["average"]


def mean_of(a: Weights, b: Weights, share: float) -> Weights:
    """`share` of a, the rest of b."""
    return {name: share * w + (1 - share) * b[name] if w.is_floating_point() else w for name, w in a.items()}


def net_of(weights: Weights) -> Net:
    net = Net(*(len(weights[f"{head}.bias"]) for head in ("characters", "syllables", "tones"))).eval()
    net.load_state_dict(weights)
    return net


def known_characters() -> dict[str, int]:
    lines = (WORK / "tokens.txt").read_text(encoding="utf-8").splitlines()
    return {token: int(number) for token, number in (line.split() for line in lines)}


def heard_in_training(net: Net, known: dict[str, int], seed: int, count: int):
    """`count` batches of features, disguised, with pauses."""
    rng = random.Random(seed)
    noise = Noise(rng)
    pauses = Pauses(noise, rng)
    stream = batches(shards_of(WORK / "train"), known, rng)
    for _ in range(count):
        features, lengths = pad(pauses.into(next(stream)))
        yield disguise(features, lengths, net.mean, rng, noise)


@torch.no_grad()
def measure_again(net: Net, known: dict[str, int]):
    """New running means and variances of all batch normalisations, each the mean of BATCHES batches'; nothing else changes."""
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.reset_running_stats()
            module.momentum = None
            module.train()
    for features in heard_in_training(net, known, 1, BATCHES):
        net(features)
    net.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="that the training went on from")
    parser.add_argument("--share", type=float, default=0.5, help="of WORK/net.pt (0.5)")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_flush_denormal(True)
    net = net_of(mean_of(trained(WORK / "net.pt"), trained(arguments.checkpoint), arguments.share))
    measure_again(net, known_characters())
    torch.save({"average": net.state_dict(), "net": net.state_dict()}, WORK / "averaged.pt")


if __name__ == "__main__":
    main()
