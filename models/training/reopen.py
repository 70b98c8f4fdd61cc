"""`reopen.py [--model FOLDER]`: WORK/reopened.pt from an exported model, for `train.py --from` to go on where no checkpoint was kept.

Batch normalisation was folded into the weights: they get it back with the statistics of one large batch, which leaves
what the network computes as it was. The head for the tones is not in an export: it is new. What ngrams.py counted is in none of
the network's weights: export.py adds it each time.
"""

import argparse
import random
from itertools import islice
from pathlib import Path

import onnx
import torch
from onnx import numpy_helper

from batches import batches, disguise, pad, shards_of
from folders import DATA, HERE, WORK
from model import MEL_BINS, CausalConv, Net
from progress import error_rate, glimpses
from quantize import weight_of
from targets import Targets

STATISTICS_BATCHES = 6
# Normalisation makes the scale of a row free, and it says how far a step of the optimizer turns the row: with rows of length 1, the training lost what it had.
WEIGHT_SIZE = 0.08


class Exported:
    """The tensors of an exported model, in the order of its graph."""

    def __init__(self, file: Path):
        graph = onnx.load(file).graph
        self._stored = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self._convolutions = iter([n for n in graph.node if n.op_type == "Conv"])
        used = [(n.op_type, self._stored.get(n.input[1])) for n in graph.node if n.op_type in ("Sub", "Mul")]
        self.of_features = {op: torch.tensor(t).flatten() for op, t in used if t is not None and t.shape == (MEL_BINS, 1)}

    def convolution(self) -> tuple[torch.Tensor, torch.Tensor]:
        """(weight, bias) of the next one, as float."""
        _, weight, bias = next(self._convolutions).input
        return self.tensor(weight), self.tensor(bias)

    def tensor(self, name: str) -> torch.Tensor:
        return torch.tensor(weight_of(self._stored, name))


def unfold(folded: tuple[torch.Tensor, torch.Tensor], weight: torch.nn.Parameter, norm: torch.nn.BatchNorm1d):
    """The numbers of a row get the size WEIGHT_SIZE on average; from the next batch on `norm` gives back what they were."""
    rows, bias = folded[0].flatten(1), folded[1]
    sizes = rows.square().mean(1).sqrt() / WEIGHT_SIZE
    weight.copy_((rows / sizes[:, None]).view_as(weight))

    def give_back(_norm: torch.nn.BatchNorm1d, inputs: tuple[torch.Tensor]):
        variance, mean = torch.var_mean(inputs[0], 0, unbiased=False)
        norm.weight.copy_(sizes * torch.sqrt(variance + norm.eps))
        norm.bias.copy_(bias + sizes * mean)
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        once.remove()

    once = norm.register_forward_pre_hook(give_back)


def reopen(model: Exported, net: Net, features: torch.Tensor):
    """Everything but the head of the tones. features: (batch, frames, 80), disguised as in training, for the statistics."""
    net.mean.copy_(model.of_features["Sub"])
    net.inverse_std.copy_(model.of_features["Mul"])

    def linear(into: torch.nn.Linear, weight: torch.Tensor, bias: torch.Tensor):
        into.weight.copy_(weight.reshape(into.weight.shape))
        into.bias.copy_(bias)

    def convolution(into: CausalConv):
        unfold(model.convolution(), into.weight, into.norm)

    def blocks(into: torch.nn.ModuleList):
        for block in into:
            convolution(block.conv)
            block.mix.bias.zero_()
            unfold(model.convolution(), block.mix.weight, block.norm)

    unfold(model.convolution(), net.pitch.comb.weight, net.pitch.norm)
    net.pitch.comb.bias.zero_()
    linear(net.pitch.bands, *model.convolution())
    convolution(net.pitch.beats)
    convolution(net.pitch.halve1)
    convolution(net.pitch.halve2)
    blocks(net.pitch.blocks)
    convolution(net.halve1)
    convolution(net.halve2)
    blocks(net.blocks)
    linear(net.join, *model.convolution())
    weight, bias = model.convolution()
    linear(net.pair, weight.transpose(1, 2), bias)
    blocks(net.slow)
    linear(net.unpair, *model.convolution())
    linear(net.syllables, *model.convolution())
    linear(net.characters, *model.convolution())
    for name, parameter in net.spelling.named_parameters():
        parameter.copy_(model.tensor(f"net.spelling.{name}"))
    net.eval()
    for norm in net.modules():
        if isinstance(norm, torch.nn.BatchNorm1d):
            norm.train()
    net(features)
    net.eval()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=HERE.parent / "bundled")
    folder = parser.parse_args().model
    torch.manual_seed(0)
    torch.set_flush_denormal(True)
    rng = random.Random(0)
    targets = Targets(DATA, WORK)
    if (folder / "tokens.txt").read_text(encoding="utf-8") != targets.text():
        raise SystemExit(f"{folder / 'tokens.txt'} lists other characters than the sentences and words in {DATA}")
    stream = batches(shards_of(WORK / "train"), targets.character, rng)
    net = Net(*targets.sizes).requires_grad_(False)
    model = Exported(folder / "model.onnx")
    groups = sorted(islice(stream, 20 * STATISTICS_BATCHES), key=lambda group: len(group[0][1]))
    middle = [utterance for group in groups[len(groups) // 2 :][:STATISTICS_BATCHES] for utterance in group]
    reopen(model, net, disguise(*pad(middle), model.of_features["Sub"], rng))
    watched = glimpses(WORK / "eval", 60)
    print("error rates %", error_rate(net, targets, watched), flush=True)
    torch.save({"average": net.state_dict(), "net": net.state_dict()}, WORK / "reopened.pt")


if __name__ == "__main__":
    main()
