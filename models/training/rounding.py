"""`rounding.py --from CHECKPOINT`: WORK/rounded.pt, the same network with the weights of large convolutions on the steps of 4 or 6 bits, each chosen so that
what a layer makes of the training's audio changes least (Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2023).
"""

import argparse
from pathlib import Path

import torch

from average import heard_in_training, known_characters, net_of, trained
from folders import WORK
from model import CausalConv, Net
from quantize import FOUR_BITS_MOST, SIX_BITS_MOST, rounded

BATCHES = 60
DAMPING = 0.01  # of the mean of the diagonal
TRIES = 4


def layers(net: Net) -> dict[torch.nn.Module, int]:
    """Those whose weights get fewer than 8 bits, and the most steps one may have of the zero. (With 6 bits for all large ones, the first convolution, the 1x1 ones and the first
    block's lost the most; the slow ones lose little with 4.)"""
    six = [block.conv for block in net.blocks[1:]]
    return {**dict.fromkeys([*six, net.pair, net.unpair], SIX_BITS_MOST), **{block.conv: FOUR_BITS_MOST for block in net.slow}}


def rows_of(layer: torch.nn.Module) -> torch.Tensor:
    weight = layer.weight.detach()
    return weight.permute(0, 2, 1).reshape(len(weight), -1) if isinstance(layer, CausalConv) else weight


def put_back(layer: torch.nn.Module, rows: torch.Tensor):
    weight = layer.weight
    if isinstance(layer, CausalConv):
        rows = rows.view(len(weight), weight.shape[2], weight.shape[1]).permute(0, 2, 1)
    weight.copy_(rows)


def taken(layer: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """What each row is multiplied by, (n, columns)."""
    if isinstance(layer, CausalConv):
        x = torch.cat(layer.taps(x), 2)
    return x.flatten(0, -2)


def heard(net: Net, known: dict[str, int]) -> dict[torch.nn.Module, torch.Tensor]:
    """(columns, columns) for each layer: the products of what it takes, over some of the training's audio."""
    products = {layer: torch.zeros(rows_of(layer).shape[1], rows_of(layer).shape[1]) for layer in layers(net)}

    def add(layer: torch.nn.Module, inputs: tuple[torch.Tensor]):
        x = taken(layer, inputs[0])
        products[layer].addmm_(x.T, x)

    hooks = [layer.register_forward_pre_hook(add) for layer in products]
    for features in heard_in_training(net, known, 2, BATCHES):
        net.heard(features)
    for hook in hooks:
        hook.remove()
    return products


def on_steps(rows: torch.Tensor, products: torch.Tensor, largest: int) -> torch.Tensor:
    """The rows as whole multiples of a step for each row. The largest of a row is `largest` of them, so that quantize.rounded finds the same step; after TRIES it is left as it is."""
    columns = len(products)
    order = products.diagonal().argsort(descending=True)
    damped = products[order][:, order] + DAMPING * products.diagonal().mean() * torch.eye(columns)
    upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(damped.double())), upper=True).float()
    step = torch.from_numpy(rounded(rows.numpy(), largest)[1])[:, None]
    for _ in range(TRIES):
        left, whole = rows[:, order].clone(), torch.zeros_like(rows)
        for i in range(columns):
            whole[:, i : i + 1] = torch.round(left[:, i : i + 1] / step).clamp(-largest, largest)
            error = (left[:, i : i + 1] - whole[:, i : i + 1] * step) / upper[i, i]
            left[:, i:] -= error * upper[i, i:]
        most = whole.abs().amax(1, keepdim=True)
        if (most == largest).all():
            break
        step = step * (most / largest).clamp(min=0.5)
    return (whole * step)[:, order.argsort()]


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="checkpoint", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_flush_denormal(True)
    net = net_of(trained(arguments.checkpoint))
    for layer, products in heard(net, known_characters()).items():
        rows = rows_of(layer)
        largest = layers(net)[layer]
        whole, step = rounded(rows.numpy(), largest)
        nearest, best = torch.from_numpy(whole * step[:, None]), on_steps(rows, products, largest)
        wrong = [((r - rows) @ products * (r - rows)).sum() / (rows @ products * rows).sum() for r in (nearest, best)]
        print(f"{tuple(layer.weight.shape)}: {wrong[0]:.1e} of its energy wrong on the nearest steps, {wrong[1]:.1e} on these", flush=True)
        put_back(layer, best)
    torch.save({"average": net.state_dict(), "net": net.state_dict()}, WORK / "rounded.pt")


if __name__ == "__main__":
    main()
