"""`train_gpu.py --minutes M --from CHECKPOINT`: train.py for a GPU, which hears as much in a minute as two cores in three hours. Writes WORK/net.pt.

Processes speak on all cores meanwhile (speakers.py); what they have said stays in the GPU's memory (pool.py), which disguises it anew each
time it is heard. It goes on from a checkpoint, such as reopen.py makes of the model in use; from nothing, train.py comes first.
"""

import argparse
import os
import shutil
import threading
import time
from multiprocessing.queues import Queue
from pathlib import Path

import torch

import mixed_voices
import speakers
from debian_texts import FILE as DEBIAN
from folders import DATA, WORK
from gpu_lessons import Lessons
from lessons import DEVICE, USE_BFLOAT16
from model import Net
from muon import Muons
from pool import Pool
from progress import error_rate, glimpses
from reading import DRAWN
from targets import Targets
from text import tatoeba
from train import WEIGHTS, continued_net, follow, learning_rate, parts_for_muon, save

# A GPU has room for large batches, and they keep it busy.
BATCH_FRAMES = 240000 if DEVICE == "cuda" else 12000
PEAK_RATE = 2e-3
DRAWN_SHARE, DEBIAN_SHARE = 0.42, 0.31  # of the sentences, the others are Tatoeba's
FIRST_HOURS = 3  # of speech before the first step, less for short tries
MOST_HOURS = 330 if DEVICE == "cuda" else 20  # in memory: 38 GB
KEPT = 0.998  # from step to step, of the average of the weights
SHOW_EVERY = 100


def sources() -> speakers.Sources:
    def lines(name: str) -> list[str]:
        return (WORK / name).read_text(encoding="utf-8").split("\n")

    own, _ = tatoeba(DATA / "sentences.txt.gz")
    return [(1 - DRAWN_SHARE - DEBIAN_SHARE, own), (DRAWN_SHARE, lines(DRAWN)), (DEBIAN_SHARE, lines(DEBIAN))]


def listen(pool: Pool, files: "Queue[speakers.Spoken]", processes: list):
    """Until there is no room."""
    while pool.take(files.get()):
        pass
    print(f"no room for more than {pool.hours:.0f} h", flush=True)
    for process in processes:
        process.terminate()


def train(minutes: float, start_from: Path, peak: float, folder: Path, count: int):
    began = time.monotonic()
    print(f"on {torch.cuda.get_device_name()}" if DEVICE == "cuda" else "PyTorch sees no GPU: on the CPU, which hears little in these minutes", flush=True)
    torch.manual_seed(0)
    targets = Targets(DATA, WORK)
    (WORK / "tokens.txt").write_text(targets.text(), encoding="utf-8")
    processes, files = speakers.start(count, sources(), targets, folder)
    net = continued_net(targets, start_from).to(DEVICE).train()
    average = Net(*targets.sizes).to(DEVICE)
    average.load_state_dict(net.state_dict())
    pool = Pool(DEVICE, MOST_HOURS, net.mean.clone())
    lessons = Lessons(targets)
    threading.Thread(target=listen, args=(pool, files, processes), daemon=True).start()
    while pool.hours < min(FIRST_HOURS, minutes / 10):
        if failed := sum(process.exitcode is not None for process in processes):
            raise SystemExit(f"{failed} of {count} processes that speak have ended; what is above says why")
        time.sleep(0.2)
    inside, others = parts_for_muon(net)
    muon = Muons(inside, torch.bfloat16 if USE_BFLOAT16 else torch.float32)
    adamw = torch.optim.AdamW(others, weight_decay=1e-2)
    weights, shown = torch.tensor(WEIGHTS, device=DEVICE), torch.zeros(len(WEIGHTS), device=DEVICE)
    groups = pool.groups(BATCH_FRAMES)
    first_step, step, frames = time.monotonic(), 0, 0
    left = minutes * 60 - (first_step - began)
    if left <= 0:
        raise SystemExit(f"{first_step - began:.0f} s passed before the first step, more than --minutes {minutes:g}: give it more")
    while (done := (time.monotonic() - first_step) / left) < 1:
        rate = learning_rate(peak, step, done)
        batch = pool.batch(next(groups))
        losses = torch.stack(lessons.losses(net, batch))
        (losses * weights).sum().backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        muon.step(rate)
        adamw.param_groups[0]["lr"] = rate
        adamw.step()
        net.zero_grad(set_to_none=True)
        step, frames = step + 1, frames + int(batch.frames.sum())
        follow(average, net, step, KEPT)
        shown.lerp_(losses.detach(), 0.02 if step > 1 else 1.0)
        if step % SHOW_EVERY == 0:
            passed, heard = time.monotonic() - began, frames / 360000
            told = "step {}, {:.0f} s, {:.0f} h heard of {:.0f}: characters {:.3f}, syllables {:.3f}, tones {:.3f}, text {:.3f}"
            print(told.format(step, passed, heard, pool.hours, *shown.tolist()), flush=True)
    print(f"{step} steps, {frames / 360000:.0f} h heard of {pool.hours:.0f} h", flush=True)
    save(average, net)
    for process in processes:
        process.kill()
        process.join()
    mixed_voices.clear(WORK)
    shutil.rmtree(folder)
    print("error rates %", error_rate(average, targets, glimpses(WORK / "eval", 60)), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--from", dest="start_from", type=Path, required=True)
    parser.add_argument("--peak", type=float, default=PEAK_RATE, help="the highest learning rate")
    parser.add_argument("--folder", type=Path, default=WORK, help="where speech lies for seconds, in a folder `spoken`; best in memory")
    parser.add_argument("--speakers", type=int, default=max(1, (os.cpu_count() or 1) - 3), help="processes that speak")
    arguments = parser.parse_args()
    train(arguments.minutes, arguments.start_from, arguments.peak, arguments.folder / "spoken", arguments.speakers)
