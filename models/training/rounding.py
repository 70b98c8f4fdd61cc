"""`rounding.py --from CHECKPOINT`: WORK/rounded.pt, the same network with those weights that export.py stores with 6 bits on the steps of these already, each chosen so that
what a layer makes of the training's audio changes least (Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2023).
"""

import argparse
from pathlib import Path

import torch

from average import heard_in_training, known_characters, net_of, trained
from folders import WORK
from model import CausalConv, Net
from quantize import SIX_BITS_FROM, SIX_BITS_MOST, SIX_BITS_ROWS, rounded

BATCHES = 60
DAMPING = 0.01  # of the mean of the diagonal
TRIES = 4


def layers(net: Net) -> list[torch.nn.Module]:
    """Those whose weights get 6 bits, in the order of the graph."""
    with_weights = [m for m in net.modules() if isinstance(m, CausalConv | torch.nn.Linear)]
    heads = {net.characters, net.syllables, net.tones, *net.spelling.modules()}
    return [m for m in with_weights if m not in heads and m.weight.numel() > SIX_BITS_FROM and len(m.weight) <= SIX_BITS_ROWS]


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


def on_steps(rows: torch.Tensor, products: torch.Tensor) -> torch.Tensor:
    """The rows as whole multiples of a step for each row. The largest of a row is SIX_BITS_MOST of them, so that quantize.rounded finds the same step; after TRIES it is left as it is."""
    columns = len(products)
    order = products.diagonal().argsort(descending=True)
    damped = products[order][:, order] + DAMPING * products.diagonal().mean() * torch.eye(columns)
    upper = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(damped.double())), upper=True).float()
    step = torch.from_numpy(rounded(rows.numpy(), SIX_BITS_MOST)[1])[:, None]
    for _ in range(TRIES):
        left, whole = rows[:, order].clone(), torch.zeros_like(rows)
        for i in range(columns):
            whole[:, i : i + 1] = torch.round(left[:, i : i + 1] / step).clamp(-SIX_BITS_MOST, SIX_BITS_MOST)
            error = (left[:, i : i + 1] - whole[:, i : i + 1] * step) / upper[i, i]
            left[:, i:] -= error * upper[i, i:]
        most = whole.abs().amax(1, keepdim=True)
        if (most == SIX_BITS_MOST).all():
            break
        step = step * (most / SIX_BITS_MOST).clamp(min=0.5)
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
        whole, step = rounded(rows.numpy(), SIX_BITS_MOST)
        nearest, best = torch.from_numpy(whole * step[:, None]), on_steps(rows, products)
        wrong = [((r - rows) @ products * (r - rows)).sum() / (rows @ products * rows).sum() for r in (nearest, best)]
        print(f"{tuple(layer.weight.shape)}: {wrong[0]:.1e} of its energy wrong on the nearest steps, {wrong[1]:.1e} on these", flush=True)
        put_back(layer, best)
    torch.save({"average": net.state_dict(), "net": net.state_dict()}, WORK / "rounded.pt")


if __name__ == "__main__":
    main()
