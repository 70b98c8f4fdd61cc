"""Processes that speak as fast as they can, for a training that disguises what they say anew each time it is heard (train_gpu.py)."""

import multiprocessing
import os
import random
import subprocess
import sys
from multiprocessing.queues import Queue
from pathlib import Path

import numpy as np

import spoken_syllables
from features import SAMPLE_RATE
from phonemes import syllables
from synthesize import LONGEST_NOTHING_S, NOTHING_SHARE, SHORTEST_NOTHING_S, WORDS_SHARE, drawn_voice, said, silence, words
from targets import Targets

UTTERANCES = 96  # in a file
SHORTEST_S, LONGEST_S = 0.2, 8.8  # the silence around it not counted
FILES_AHEAD = 64
NICENESS = 15  # the training itself needs one core
Sources = list[tuple[float, list[str]]]
"""Shares, and sentences with their pauses."""
Spoken = tuple[Path, np.ndarray, np.ndarray]
"""A file of samples; characters and syllables (2, n), no syllables where espeak-ng's do not fit; and of each utterance its samples, its characters, and whether its
syllables are known (utterances, 3)."""


def utterance(sources: Sources, alone: list[str], rng: random.Random) -> tuple[np.ndarray, str] | None:
    """Clean speech and its text; silence, where nothing is said; None where not all of the sentence is recorded."""
    draw = rng.random()
    if draw < NOTHING_SHARE:
        return silence(rng.uniform(SHORTEST_NOTHING_S, LONGEST_NOTHING_S)), ""
    if draw < NOTHING_SHARE + WORDS_SHARE:
        parts = rng.choices(alone, k=rng.choice([1, 1, 2, 3]))
        return said("words", parts, rng)
    (source,) = rng.choices([sentences for _, sentences in sources], [share for share, _ in sources])
    sentence = rng.choice(source)
    return said(drawn_voice(rng), sentence, rng)


def utterances(sources: Sources, targets: Targets, rng: random.Random):
    """Endless: what is of a usable length and of known characters."""
    alone = sorted(words())
    while True:
        try:
            spoken = utterance(sources, alone, rng)
        except subprocess.CalledProcessError as failure:
            print(f"left out: {failure}", file=sys.stderr)  # sox crashes where speed and pitch undo each other to the last digit, as 1.100 and -165 do
            continue
        if spoken and SHORTEST_S < len(spoken[0]) / SAMPLE_RATE < LONGEST_S and targets.character.keys() >= set(spoken[1]):
            yield spoken


def speak(seed: int, sources: Sources, targets: Targets, folder: Path, files: "Queue[Spoken]"):
    os.nice(NICENESS)
    number = {s: i for i, s in enumerate(targets.inventory)}
    stream = utterances(sources, targets, random.Random(seed))
    for count in range(sys.maxsize):
        sounds, written, said, sizes = [], [], [], []
        for _ in range(UTTERANCES):
            sound, text = next(stream)
            heard = syllables(text) if text else []
            known = len(heard) == len(text) and number.keys() >= set(heard)
            sounds.append((np.clip(sound, -1, 1) * 32767).astype(np.int16))
            written += [targets.character[c] for c in text]
            said += [number[s] for s in heard] if known else [0] * len(text)
            sizes.append((len(sound), len(text), known))
        file = folder / f"{seed}-{count}.npy"
        np.save(file, np.concatenate(sounds))
        files.put((file, np.array([written, said], np.int16), np.array(sizes, np.int32)))


def start(count: int, sources: Sources, targets: Targets, folder: Path) -> tuple[list[multiprocessing.Process], "Queue[Spoken]"]:
    """Before anything touches the GPU: they are forks of this process. Their files stay in `folder` until they are taken."""
    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")
    files: Queue[Spoken] = context.Queue(FILES_AHEAD)
    words()
    spoken_syllables.people()
    seed = random.SystemRandom().randrange(1 << 30)
    processes = [context.Process(target=speak, args=(seed + i, sources, targets, folder, files), daemon=True) for i in range(count)]
    for process in processes:
        process.start()
    return processes, files
