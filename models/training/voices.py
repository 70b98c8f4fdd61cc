"""Voices: espeak-ng's synthetic ones, and recorded words joined to sentences, which is also how recorded syllables (spoken_syllables.py) become speech."""

import os
import pickle
import random
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.signal import resample_poly

from features import SAMPLE_RATE

Recordings = TypeVar("Recordings")

# Variants of espeak-ng's Mandarin voice. Those held out are never trained on; the whispering one of them makes the hard set.
HELD_OUT_VOICES = ["f4", "m7", "robert", "anika"]
HELD_OUT_HARD_VOICES = [*HELD_OUT_VOICES, "whisperf"]
TRAINING_VOICES = [
    "", "f1", "f2", "f3", "f5", "m1", "m2", "m3", "m4", "m5", "m6", "m8", "adam", "Alex", "Alicia", "Andrea", "Andy",
    "Annie", "announcer", "antonio", "aunty", "belinda", "benjamin", "boris", "caleb", "croak", "david", "Denis",
    "Diogo", "ed", "edward", "edward2", "Gene", "Gene2", "grandma", "grandpa", "gustave", "Henrique", "Hugo", "iven",
    "iven2", "iven3", "iven4", "Jacky", "john", "kaukovalta", "klatt", "klatt2", "klatt3", "klatt4", "klatt5",
    "klatt6", "Lee", "linda", "marcelo", "Marco", "Mario", "max", "michel", "Michael", "miguel", "Mike", "Mr serious",
    "Nguyen", "norbert", "pablo", "paul", "pedro", "quincy", "RicishayMax", "RicishayMax2", "RicishayMax3", "rob",
    "sandro", "shelby", "steph", "steph2", "steph3", "Storm", "travis", "victor", "whisper", "zac",
]  # fmt: skip

# Those of them that speak above 150 Hz at the middle of their range. Drawn like the others they would be a fifth of what is heard, and their tones the worst known.
HIGH_VOICES = [
    "f1", "f2", "f3", "f5", "Alicia", "Andrea", "Annie", "aunty", "belinda", "grandma", "linda", "shelby", "steph",
    "steph2", "steph3", "zac",
]  # fmt: skip
HIGH_SHARE = 0.3


def drawn(rng: random.Random) -> str:
    """A voice to train on: nearly half of the time a high one."""
    return rng.choice(HIGH_VOICES if rng.random() < HIGH_SHARE else TRAINING_VOICES)


def synthetic(text: str, voice: str, words_per_minute: int, pitch: int, home: Path | None = None) -> np.ndarray:
    """`text` spoken by espeak-ng: float32 samples at 16 kHz. `home`: the folder with the data, where it is not espeak-ng's own."""
    name = "cmn-latn-pinyin" + (f"+{voice}" if voice else "")
    where = [f"--path={home}"] if home else []
    command = ["espeak-ng", *where, "-v", name, "-s", str(words_per_minute), "-p", str(pitch), "--stdout", text]
    wav = subprocess.run(command, capture_output=True, check=True).stdout
    samples = np.frombuffer(wav[44:], dtype="<i2").astype(np.float32) / 32768
    return resample_poly(samples, 320, 441).astype(np.float32)  # espeak-ng speaks at 22,050 Hz


def decoded(source: Sequence[str | Path], data: bytes | None = None) -> np.ndarray | None:
    """What sox reads from `source`, int16 at 16 kHz, silence trimmed."""
    # -R: the same dither in every run.
    command = ["sox", "-V1", "-R", *source, "-t", "raw", "-r", str(SAMPLE_RATE), "-e", "signed", "-b", "16", "-c", "1", "-"]
    # A sox that cannot read the format would leave everything out, and that would be kept.
    raw = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    return trimmed(np.frombuffer(raw, dtype="<i2"))


def _decode(item: tuple[str, bytes]) -> tuple[str, np.ndarray] | None:
    word, mp3 = item
    samples = decoded(["-t", "mp3", "-"], mp3)
    return None if samples is None else (word, samples)


def trimmed(samples: np.ndarray) -> np.ndarray | None:
    """Without the silence around it; None where that is all."""
    if len(samples) < 1600:
        return None
    frames = samples[: len(samples) // 160 * 160].reshape(-1, 160).astype(np.float32)
    level = np.sqrt((frames**2).mean(1))
    loud = np.where(level > max(level.max() * 0.02, 30))[0]
    if len(loud) == 0:
        return None
    return samples[max(0, (loud[0] - 2) * 160) : (loud[-1] + 4) * 160].copy()


def recorded_words(tar: Path, cached: Path) -> dict[str, np.ndarray]:
    """Word -> its recording, int16 at 16 kHz, silence trimmed."""

    def words() -> dict[str, np.ndarray]:
        with tarfile.open(tar) as archive:
            files = {Path(m.name).stem[4:]: archive.extractfile(m).read() for m in archive if m.name.endswith(".mp3")}
        items = [(w, mp3) for w, mp3 in sorted(files.items()) if re.fullmatch("[\u4e00-\u9fff]+", w)]
        with Pool() as pool:
            return dict(filter(None, pool.imap(_decode, items, chunksize=50)))

    return kept(cached, words)


def kept(file: Path, make: Callable[[], Recordings]) -> Recordings:
    """What `make` made once."""
    if not file.exists():
        made = make()
        partial = file.with_suffix(f".{os.getpid()}")  # the processes of a training may all be here
        partial.write_bytes(pickle.dumps(made))
        partial.rename(file)
    return _load(file)


@cache
def _load(file: Path) -> Recordings:
    return pickle.loads(file.read_bytes())


def split_into_recorded(text: str, words: dict[str, np.ndarray]) -> list[str] | None:
    """Longest recorded words first; None where a character has no recording. Commas stay as pauses."""
    out, i = [], 0
    while i < len(text):
        if text[i] in "，,、":
            out.append("，")
            i += 1
            continue
        word = next((text[i : i + n] for n in (4, 3, 2, 1) if len(text[i:]) >= n and text[i : i + n] in words), None)
        if word is None:
            return None
        out.append(word)
        i += len(word)
    return out


class Manner(NamedTuple):
    """How recorded words are spoken, and each word within a sentence; drawn evenly between two limits."""

    speed: tuple[float, float] = (0.85, 1.15)
    pitch_cents: tuple[float, float] = (-250, 150)
    tempo: tuple[float, float] = (1.2, 2.3)
    peak: tuple[float, float] = (0.4, 0.7)  # of a word
    own_speed: tuple[float, float] | None = None  # of a word


# Of the evaluation sets too, which stay as they are.
USUAL = Manner()
VARIED = Manner(pitch_cents=(-450, 250), tempo=(1.2, 2.6), peak=(0.25, 0.7), own_speed=(0.9, 1.1))


def at_speed(sound: np.ndarray, speed: float) -> np.ndarray:
    """Higher and shorter, or lower and longer."""
    return np.interp(np.arange(0, len(sound) - 1, speed), np.arange(len(sound)), sound).astype(np.float32)


def joined(parts: Iterable[np.ndarray | None], peak: tuple[float, float], rng: random.Random) -> np.ndarray:
    """Sounds with short cross-fades, each at a peak drawn from between two limits; None is a pause."""
    whole = np.zeros(0, np.float32)
    for part in parts:
        if part is None:
            whole = np.concatenate([whole, np.zeros(int(rng.uniform(0.1, 0.35) * SAMPLE_RATE), np.float32)])
            continue
        sound = part * (rng.uniform(*peak) / (np.abs(part).max() + 1e-6))
        overlap = min(int(rng.uniform(0, 0.03) * SAMPLE_RATE), len(whole) // 3, len(sound) // 3)
        fade = np.linspace(0, 1, overlap, dtype=np.float32)
        cut = len(whole) - overlap
        whole = np.concatenate([whole[:cut], whole[cut:] * (1 - fade) + sound[:overlap] * fade, sound[overlap:]])
    return whole


def effects(samples: np.ndarray, speed: float, pitch_cents: float, tempo: float) -> np.ndarray:
    """In another voice, and `tempo` times as fast whatever its speed."""
    pcm = ["-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
    chain = ["speed", f"{speed:.3f}", "pitch", f"{pitch_cents:.0f}", "tempo", "-s", f"{tempo / speed:.3f}"]
    command = ["sox", "-R", *pcm, "-t", "raw", "-", *chain, "rate", "16000"]
    data = (np.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
    spoken = subprocess.run(command, input=data, capture_output=True, check=True).stdout
    return np.frombuffer(spoken, dtype="<i2").astype(np.float32) / 32768


def recorded(parts: list[str], words: dict[str, np.ndarray], rng: random.Random, manner: Manner = USUAL) -> np.ndarray:
    """Recorded words joined to a sentence, at sentence tempo, in a slightly other voice each time."""

    def sounds():
        for part in parts:
            word = None if part == "，" else words[part].astype(np.float32)
            yield word if word is None or manner.own_speed is None else at_speed(word, rng.uniform(*manner.own_speed))

    whole = joined(sounds(), manner.peak, rng)
    return effects(whole, rng.uniform(*manner.speed), rng.uniform(*manner.pitch_cents), rng.uniform(*manner.tempo))
