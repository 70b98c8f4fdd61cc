"""`export.py [--from CHECKPOINT] [--to FOLDER]`: WORK/net.pt, or another checkpoint, as the streaming `nemo-ctc` model.onnx that sherpa-onnx and the server load, with tokens.txt.

One step takes 48 feature frames (480 ms). Every convolution's past, and the delay's, is a part of one state tensor.
Batch normalisation is folded into the weights, and those are stored as whole numbers of 4, 6 or 8 bits (quantize.py).
What ngrams.py counted goes into the graph with them (rescoring.py).
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F

import rescoring
import spelling
from average import net_of, trained
from folders import WORK
from model import CHANNELS, DELAY, MEL_BINS, CausalConv, Net
from ngrams import FILE as COUNTS
from quantize import quantize
from rescoring import HEARD, STATE, Rescoring
from spelling import BEFORE, REACH

STEP_FRAMES = 48
SUBSAMPLING = 4
HEARD_IN_NOISE = 8  # so much less likely must the blank be for syllables to be heard in noise, and spelt
INPUTS = ["audio_signal", "length", "cache_last_channel", "cache_last_time", "cache_last_channel_len"]
OUTPUTS = ["logprobs", "encoded_lengths", *(f"{name}_next" for name in INPUTS[2:])]


def folded(weight: torch.Tensor, bias: torch.Tensor | float, norm: torch.nn.BatchNorm1d):
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    shape = (-1, *([1] * (weight.dim() - 1)))
    return weight * scale.view(shape), (bias - norm.running_mean) * scale + norm.bias


class Streaming(torch.nn.Module):
    """The same network in (batch, channels, time). Its one state is what the convolutions and the delay need of their past, one after the other in time,
    and in a last column the syllables of the REACH frames before, as they begin, and the likeliest of the last frame; then what syllables were likely in the DELAY frames
    before, and what the rescoring keeps."""

    def __init__(self, net: Net, rescoring: Rescoring):
        super().__init__()
        self.net, self.rescoring = net, rescoring
        pitch = [net.pitch.beats, net.pitch.halve1, net.pitch.halve2, *(block.conv for block in net.pitch.blocks)]
        self.convolutions: list[CausalConv] = [*pitch, net.halve1, net.halve2, *(block.conv for block in (*net.blocks, *net.slow))]
        self.pasts = [*(c.past for c in self.convolutions), DELAY, 1]
        # Numbers, not shapes of tensors: what depends on a shape is computed again in each step.
        self.channels = [c.weight.shape[1] for c in self.convolutions]
        remembered = REACH + 1, DELAY * HEARD, DELAY * HEARD, STATE
        self.remembered = [*remembered, CHANNELS - sum(remembered)]

    def forward(self, audio_signal, length, last_channel, last_time, last_channel_len):
        net = self.net
        pasts = iter(last_time[:, 0].split(self.pasts, 2))
        kept: list[torch.Tensor] = []

        def convolve(x: torch.Tensor) -> torch.Tensor:
            conv, channels, past = self.convolutions[len(kept)], self.channels[len(kept)], next(pasts)
            absent = CHANNELS - channels
            seen = torch.cat([past[:, :channels] if absent else past, x], 2)
            last = seen[:, :, -conv.past :]
            kept.append(F.pad(last, (0, 0, 0, absent)) if absent else last)
            weight, bias = folded(conv.weight, 0.0, conv.norm)
            return F.relu(F.conv1d(seen, weight, bias, conv.stride, 0, conv.dilation))

        def through(blocks: torch.nn.ModuleList, x: torch.Tensor) -> torch.Tensor:
            for block in blocks:
                weight, bias = folded(block.mix.weight[:, :, None], block.mix.bias, block.norm)
                x = F.relu(x + F.conv1d(convolve(x), weight, bias))
            return x

        x = (audio_signal - net.mean[:, None]) * net.inverse_std[:, None]
        weight, bias = folded(net.pitch.comb.weight[:, :, None], net.pitch.comb.bias, net.pitch.norm)
        ripples = F.relu(F.conv1d(x, weight, bias))
        beats = convolve(F.conv1d(x, net.pitch.bands.weight[:, :, None], net.pitch.bands.bias))
        pitch = through(net.pitch.blocks, convolve(convolve(torch.cat([ripples, beats], 1))))
        x = through(net.blocks, convolve(convolve(x)))
        x = x + F.conv1d(pitch, net.join.weight[:, :, None], net.join.bias)
        pair = net.pair.weight.view(CHANNELS, 2, CHANNELS).transpose(1, 2)
        y = through(net.slow, F.relu(F.conv1d(x, pair, net.pair.bias, stride=2)))
        unpair = F.conv1d(y, net.unpair.weight[:, :, None], net.unpair.bias)
        unpair = unpair.view(-1, 2, CHANNELS, STEP_FRAMES // SUBSAMPLING // 2).permute(0, 2, 3, 1).flatten(2)
        seen = torch.cat([next(pasts), x], 2)
        kept.append(seen[:, :, -DELAY:])
        syllables = F.conv1d(x, net.syllables.weight[:, :, None], net.syllables.bias).transpose(1, 2)
        likely = rescoring.heard(syllables)
        likeliest = likely[0][:, :, 0]
        memory = next(pasts)[:, :, 0]
        earlier, numbers, probabilities, state = memory.split(self.remembered, 1)[:4]
        earlier = earlier.round().long()
        begun = torch.cat([earlier[:, :REACH], spelling.begun(likeliest, earlier[:, REACH:])], 1)
        here, (around, began) = begun[:, REACH - DELAY : -DELAY], spelling.around(begun, DELAY)
        around, following = around[:, REACH:], began[:, REACH:, BEFORE + 1] - (REACH - DELAY)
        spelt = net.spelt(here, around).transpose(1, 2)
        logits = F.conv1d(seen[:, :, :-DELAY] + unpair + spelt, net.characters.weight[:, :, None], net.characters.bias).transpose(1, 2)
        likely = torch.cat([numbers.round().long().view(-1, DELAY, HEARD), likely[0]], 1), torch.cat([probabilities.view(-1, DELAY, HEARD), likely[1]], 1)
        now = likely[0][:, :-DELAY], likely[1][:, :-DELAY]
        logits, state = self.rescoring(logits, here, around, now, rescoring.at(following.clamp(min=0), likely), state)
        numbers, probabilities = (part[:, -DELAY:].flatten(1).to(x.dtype) for part in likely)
        memory = torch.cat([begun[:, -REACH:].to(x.dtype), likeliest[:, -1:].to(x.dtype), numbers, probabilities, state], 1)
        kept.append(F.pad(memory, (0, CHANNELS - memory.shape[1]))[:, :, None])
        steps = length // SUBSAMPLING
        log_probabilities = F.log_softmax(logits, -1)
        return log_probabilities, steps, last_channel + 0.0, torch.cat(kept, 2)[:, None], last_channel_len + steps

    def first_state(self) -> tuple[torch.Tensor, ...]:
        states = torch.zeros(1, 1, CHANNELS, sum(self.pasts))
        return torch.zeros(1, 1, 1, 1), states, torch.zeros(1, dtype=torch.int64)


def whole_of(net: Net, rescore: Rescoring, features: torch.Tensor) -> torch.Tensor:
    """(batch, frames, 80) -> logits of the characters as the export gives them, without steps."""
    x, syllables, _ = net.heard(features)
    logits, due = net.written(x, syllables)
    likeliest = syllables.argmax(2)
    around, began = spelling.around(spelling.begun(likeliest, torch.zeros_like(likeliest[:, :1])), DELAY)
    likely = rescoring.heard(syllables)
    now = tuple(F.pad(part, (0, 0, DELAY, -DELAY)) for part in likely)
    state = logits.new_zeros(len(logits), STATE)
    return rescore(logits, due, around, now, rescoring.at(began[:, :, BEFORE + 1], likely), state)[0]


def check(net: Net, streaming: Streaming):
    """Step by step must give what the whole utterance gives. In 64 bits, where rounding is no excuse."""
    streaming.double()
    blank = net.syllables.bias[0].item()
    net.syllables.bias[0] -= HEARD_IN_NOISE
    features = torch.randn(1, 6 * STEP_FRAMES, MEL_BINS, dtype=torch.float64) * 3 - 6
    whole = F.log_softmax(whole_of(net, streaming.rescoring, features), -1)
    states, pieces = [state.double() if state.is_floating_point() else state for state in streaming.first_state()], []
    for step in features.split(STEP_FRAMES, 1):
        piece, _, *states = streaming(step.transpose(1, 2), torch.tensor([STEP_FRAMES]), *states)
        pieces.append(piece)
    difference = (torch.cat(pieces, 1) - whole).abs().max().item()
    if difference > 1e-9:
        raise RuntimeError(f"streaming differs from the whole utterance by {difference}")
    net.syllables.bias[0] = blank
    streaming.float()


def describe(model: onnx.ModelProto, streaming: Streaming, vocabulary: int):
    facts = {
        "model_type": "streaming_ctc",
        "comment": "causal convolutional CTC, Mandarin characters",
        "window_size": STEP_FRAMES,
        "chunk_shift": STEP_FRAMES,
        "subsampling_factor": SUBSAMPLING,
        "vocab_size": vocabulary - 1,  # without the blank, as NeMo counts
        "normalize_type": "NA",
        "cache_last_channel_dim1": 1,
        "cache_last_channel_dim2": 1,
        "cache_last_channel_dim3": 1,
        "cache_last_time_dim1": 1,
        "cache_last_time_dim2": CHANNELS,
        "cache_last_time_dim3": sum(streaming.pasts),
    }
    for key, value in facts.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="checkpoint", type=Path, default=WORK / "net.pt")
    parser.add_argument("--to", type=Path, default=WORK / "exported")
    arguments = parser.parse_args()
    folder = arguments.to
    folder.mkdir(parents=True, exist_ok=True)
    net = net_of(trained(arguments.checkpoint))
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    with np.load(WORK / COUNTS) as counts:
        streaming = Streaming(net, Rescoring(counts))
    check(net, streaming)
    example = (torch.zeros(1, MEL_BINS, STEP_FRAMES), torch.tensor([STEP_FRAMES]), *streaming.first_state())
    axes = {name: {0: "N"} for name in (*INPUTS, *OUTPUTS)}
    axes["audio_signal"][2], axes["logprobs"][1] = "T", "T_out"
    full = WORK / "float32.onnx"
    torch.onnx.export(
        streaming, example, str(full), opset_version=13, input_names=INPUTS, output_names=OUTPUTS, dynamic_axes=axes
    )
    model = onnx.load(full)
    describe(model, streaming, net.characters.out_features)
    quantize(model)
    onnx.checker.check_model(model)
    onnx.save(model, folder / "model.onnx")
    shutil.copyfile(WORK / "tokens.txt", folder / "tokens.txt")
    print(f"{folder / 'model.onnx'}: {(folder / 'model.onnx').stat().st_size} bytes")


if __name__ == "__main__":
    main()
