"""Makes the audio. `synthesize.py train --hours H --seed S` writes shards of features to WORK/train, `synthesize.py eval`
the evaluation sets as WAV files with their texts to WORK/eval.

Everything is drawn from seeded generators, so the same espeak-ng and sox make the same sets again.
"""

import argparse
import random
import subprocess
import sys
import wave
from functools import cache
from multiprocessing import Pool
from pathlib import Path

import numpy as np

import mixed_voices
import spoken_syllables
import voices
from augment import coloured_noise, degrade
from features import SAMPLE_RATE, log_mel
from folders import DATA, WORK
from text import SentenceSampler, characters, tatoeba

SHARD_UTTERANCES = 2000
LONGEST_S = 10.0
NOTHING_SHARE, WORDS_SHARE = 0.015, 0.035
VOICES = {"synthetic": 0.4, "recorded": 0.26, "syllables": 0.34}  # of the sentences; in a quarter of them are words that nobody recorded
# Around speech; that starts at the first sample in AT_ONCE_SHARE.
AT_ONCE_SHARE, SHORTEST_BEFORE_S, LONGEST_BEFORE_S, SHORTEST_AFTER_S, LONGEST_AFTER_S = 0.2, 0.02, 0.45, 0.35, 0.6
# Where nothing is said.
SHORTEST_NOTHING_S, LONGEST_NOTHING_S, FAINTEST_NOTHING_DB, LOUDEST_NOTHING_DB = 1, 6, -80, -10
MIXED_SHARE = 0.7  # of what is spoken by espeak-ng


@cache
def words() -> dict[str, np.ndarray]:
    return voices.recorded_words(DATA / "hsk-words-24k.tar", WORK / "words.pkl")


def silence(seconds: float) -> np.ndarray:
    return np.zeros(int(seconds * SAMPLE_RATE), np.float32)


def surround(speech: np.ndarray, rng: random.Random) -> np.ndarray:
    """Speech sometimes starts at the first sample; the silence behind it is what the network has left to say its last word in."""
    before = 0.0 if rng.random() < AT_ONCE_SHARE else rng.uniform(SHORTEST_BEFORE_S, LONGEST_BEFORE_S)
    return np.concatenate([silence(before), speech, silence(rng.uniform(SHORTEST_AFTER_S, LONGEST_AFTER_S))])


def fitting(samples: np.ndarray) -> bool:
    return 0.2 < len(samples) / SAMPLE_RATE < LONGEST_S


def training_utterance(job: tuple[str, object, int]) -> tuple[str, np.ndarray] | None:
    try:
        return spoken(*job)
    except subprocess.CalledProcessError as failure:
        print(f"left out: {failure}", file=sys.stderr)  # sox crashes where speed and pitch undo each other to the last digit, as 1.100 and -165 do
        return None


def spoken(kind: str, content, seed: int) -> tuple[str, np.ndarray] | None:
    rng = random.Random(seed)
    if kind == "nothing":
        level = 10 ** (rng.uniform(FAINTEST_NOTHING_DB, LOUDEST_NOTHING_DB) / 20)
        return "", log_mel((coloured_noise(int(rng.uniform(SHORTEST_NOTHING_S, LONGEST_NOTHING_S) * SAMPLE_RATE), rng) * level).astype(np.float32))
    found = said(kind, content, rng)
    if found is None:
        return None
    speech, text = found
    samples = degrade(surround(speech, rng), rng)
    return (text, log_mel(samples)) if fitting(samples) else None


def said(voice: str, content, rng: random.Random) -> tuple[np.ndarray, str] | None:
    """A sentence by one of VOICES, or words alone ("words"), and its text; None where not all of it is recorded."""
    if voice == "synthetic":
        return by_some_voice(content, rng), characters(content)
    if voice == "syllables":
        speech = spoken_syllables.by_somebody(content, rng)
        return None if speech is None else (speech, characters(content))
    parts = content if voice == "words" else voices.split_into_recorded(content, words())
    return None if parts is None else (voices.recorded(parts, words(), rng, voices.VARIED), characters("".join(parts)))


def drawn_voice(rng: random.Random) -> str:
    (voice,) = rng.choices(list(VOICES), VOICES.values())
    return voice


def by_some_voice(sentence: str, rng: random.Random) -> np.ndarray:
    words_per_minute, pitch = int(120 * (380 / 120) ** (rng.random() ** 1.3)), rng.randint(0, 99)
    if rng.random() >= MIXED_SHARE:
        return voices.synthetic(sentence, voices.drawn(rng), words_per_minute, pitch)
    variant, hurried = mixed_voices.mixed_voice(rng)
    if hurried:
        words_per_minute = min(words_per_minute, mixed_voices.HURRIED_FASTEST)
    return voices.synthetic(sentence, mixed_voices.NAME, words_per_minute, pitch, mixed_voices.written(variant, WORK))


def training_jobs(sentences: list[str], sampler: SentenceSampler, banned: set[str], rng: random.Random):
    """Endless: half real sentences, half sampled ones; synthetic voices and people; words alone; nothing."""
    order: list[str] = []
    alone = sorted(words())
    while True:
        draw, seed = rng.random(), rng.getrandbits(40)
        if draw < NOTHING_SHARE:
            yield "nothing", "", seed
            continue
        if draw < NOTHING_SHARE + WORDS_SHARE:
            yield "words", rng.choices(alone, k=rng.choice([1, 1, 2, 3])), seed
            continue
        if rng.random() < 0.5:
            order = order or rng.sample(sentences, len(sentences))
            sentence = order.pop()
        else:
            sentence = sampler.sentence(rng)
            if characters(sentence) in banned:
                continue
        yield drawn_voice(rng), sentence, seed


def write_shard(path: Path, utterances: list[tuple[str, np.ndarray]]):
    frames = np.concatenate([f for _, f in utterances]).astype(np.float16)
    lengths = np.array([len(f) for _, f in utterances])
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, frames=frames, lengths=lengths, texts=np.array([t for t, _ in utterances]))
    partial.rename(path)


def make_training(hours: float, seed: int):
    sentences, held_out = tatoeba(DATA / "sentences.txt.gz")
    sampler = SentenceSampler(sentences)
    words()
    spoken_syllables.people()
    out = WORK / "train"
    out.mkdir(parents=True, exist_ok=True)
    jobs = training_jobs(sentences, sampler, {characters(s) for s in held_out}, random.Random(seed))
    frames = shard = 0
    with Pool() as pool:
        # imap reads an endless iterator ahead without bound, so it gets the jobs in pieces.
        while frames < hours * 360000:
            batch = [next(jobs) for _ in range(SHARD_UTTERANCES)]
            made = [u for u in pool.imap(training_utterance, batch, chunksize=20) if u is not None]
            write_shard(out / f"{seed:03d}-{shard:04d}.npz", made)
            frames += sum(len(f) for _, f in made)
            shard += 1
            print(f"shard {shard}: {frames / 360000:.1f} h", flush=True)
    mixed_voices.clear(WORK)


def evaluation_utterance(job: tuple[str, str, int]) -> np.ndarray | None:
    """None where the recorded words or syllables do not cover the sentence."""
    name, sentence, seed = job
    rng = random.Random(seed)
    if name == "recorded":
        parts = voices.split_into_recorded(sentence, words())
        speech = None if parts is None else voices.recorded(parts, words(), rng)
    elif name == "people":
        speech = spoken_syllables.by_somebody(sentence, rng, most_cents=100)
    elif name != "hard":
        voice = rng.choice(voices.HELD_OUT_VOICES)
        speech = voices.synthetic(sentence, voice, rng.randint(120, 230), rng.randint(20, 80))
    else:
        voice = rng.choice(voices.HELD_OUT_HARD_VOICES)
        speech = voices.synthetic(sentence, voice, rng.randint(230, 380), rng.randint(0, 99))
    if speech is None:
        return None
    samples = degrade(surround(speech, rng), rng, telephone_share=0.5 if name == "hard" else 0.0)
    if name == "waiting":
        samples = np.concatenate([silence(rng.uniform(0.5, 3)), samples])
    return samples if fitting(samples) else None


def make_evaluation():
    _, held_out = tatoeba(DATA / "sentences.txt.gz")
    words()
    spoken_syllables.people()
    with Pool() as pool:
        for number, name in enumerate(["synthetic", "recorded", "hard", "waiting", "people"], 1):
            out = WORK / "eval" / name
            out.mkdir(parents=True, exist_ok=True)
            jobs = [(name, sentence, number * 1000 + i) for i, sentence in enumerate(held_out)]
            lines = []
            for i, samples in enumerate(pool.imap(evaluation_utterance, jobs, chunksize=10)):
                if samples is None:
                    continue
                with wave.open(str(out / f"{i:03d}.wav"), "wb") as wav:
                    wav.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
                    wav.writeframes((samples * 32767).astype("<i2").tobytes())
                lines.append(f"{i:03d}.wav\t{characters(held_out[i])}")
            (out / "text.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
            print(f"{name}: {len(lines)} sentences", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["train", "eval"])
    parser.add_argument("--hours", type=float, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    if arguments.what == "eval":
        make_evaluation()
    else:
        make_training(arguments.hours, arguments.seed)


if __name__ == "__main__":
    main()
