"""Two people's recordings of all Mandarin syllables (Debian's gcin-voice, for an input method), joined to sentences: after Yue Tan's words the only people that the training
hears.
"""

import random
import re
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from features import SAMPLE_RATE
from folders import WORK
from phonemes import syllables
from text import characters
from voices import at_speed, decoded, effects, joined, kept

FOLDER, CACHED = Path("/usr/share/gcin-voice/ogg"), "syllables.pkl"
# The files' names. Edward Der-Hua Liu, a man; Chu Lo, a woman.
PEOPLE = "3", "5"
FADE_SAMPLES = 400
MOST_FALL = 0.15  # of the pitch, from the first syllable of a phrase to its last
MOST_CENTS = 400
SECONDS_A_SYLLABLE = 0.26  # on average

INITIALS = {
    "p": "ㄅ", "ph": "ㄆ", "m": "ㄇ", "f": "ㄈ", "t": "ㄉ", "th": "ㄊ", "n": "ㄋ", "l": "ㄌ", "k": "ㄍ", "kh": "ㄎ", "X": "ㄏ",
    "tS;": "ㄐ", "tS;h": "ㄑ", "S;": "ㄒ", "ts.": "ㄓ", "ts.h": "ㄔ", "s.": "ㄕ", "z.": "ㄖ", "ts": "ㄗ", "tsh": "ㄘ", "s": "ㄙ",
}  # fmt: skip
FINALS = {
    "A": "ㄚ", "a": "ㄚ", "o": "ㄛ", "@": "ㄜ", "o-": "ㄜ", "ai": "ㄞ", "ei": "ㄟ", "Au": "ㄠ", "ou": "ㄡ", "an": "ㄢ", "@n": "ㄣ", "aN": "ㄤ", "AN": "ㄤ",
    "@N": "ㄥ", "ong": "ㄨㄥ", "i.": "", "i[": "", "i": "ㄧ", "iA": "ㄧㄚ", "iE": "ㄧㄝ", "iEn": "ㄧㄢ", "iAN": "ㄧㄤ", "in": "ㄧㄣ", "iN": "ㄧㄥ",
    "iou": "ㄧㄡ", "iAu": "ㄧㄠ", "io": "ㄧㄛ", "u": "ㄨ", "uA": "ㄨㄚ", "ua": "ㄨㄚ", "uo": "ㄨㄛ", "uo-": "ㄨㄛ", "uai": "ㄨㄞ", "uei": "ㄨㄟ", "uan": "ㄨㄢ", "uAn": "ㄨㄢ",
    "u@n": "ㄨㄣ", "uo-n": "ㄨㄣ", "uAN": "ㄨㄤ", "uaN": "ㄨㄤ", "u@N": "ㄨㄥ", "y": "ㄩ", "yE": "ㄩㄝ", "y&n": "ㄩㄢ", "y@n": "ㄩㄣ", "yN": "ㄩㄥ", "@r": "ㄦ",
}  # fmt: skip
# The same sounds by other names.
ALIASES = ("wu", "u"), ("ji", "i"), (";y", "y"), ("yin", "y@n"), ("yu", "y"), ("uN", "yN"), ("j", "i"), ("w", "u")
LOW, NEUTRAL = "3", "1"
TONES = {"55": "", "35": "2", "21": LOW, "214": LOW, "51": "4", "53": "4", "11": NEUTRAL, "22": NEUTRAL, "33": NEUTRAL, "44": NEUTRAL}
# What is said where a syllable has no recording in its tone: few have one without, and some get theirs only in front of others.
INSTEAD = {NEUTRAL: (NEUTRAL, "4", "", "3", "2"), "2": ("2", LOW), LOW: (LOW, ""), "4": ("4", ""), "": ("", "4")}
Sounds = dict[str, np.ndarray]
"""Names in gcin-voice -> int16 at 16 kHz, silence trimmed."""


def zhuyin(syllable: str) -> tuple[str, str] | None:
    """espeak-ng's name of a syllable -> how gcin-voice writes it, and its tone; None of what is no single syllable of Mandarin."""
    tones, sounds = re.findall("[0-9]+", syllable), re.sub("[0-9]+", "", syllable)
    initial = next((i for i in sorted(INITIALS, key=len, reverse=True) if sounds.startswith(i)), "")
    final = sounds[len(initial) :]
    other = next((o for o in ALIASES if final.startswith(o[0])), ("", ""))
    final = other[1] + final[len(other[0]) :]
    if len(tones) != 1 or tones[0] not in TONES or final not in FINALS:
        return None
    return INITIALS.get(initial, "") + FINALS[final], TONES[tones[0]]


def _decode(file: Path) -> tuple[str, str, np.ndarray] | None:
    samples = decoded([file])
    return None if samples is None else (file.stem, file.parent.name, samples)


def people() -> list[Sounds]:
    """Of PEOPLE."""

    def sounds() -> list[Sounds]:
        with Pool() as pool:
            everything = list(filter(None, pool.imap(_decode, sorted(FOLDER.glob("*/*.ogg")), chunksize=50)))
        if not everything:
            raise SystemExit(f"no recordings in {FOLDER}: apt-get install gcin-voice")
        return [{name: sound for who, name, sound in everything if who == person} for person in PEOPLE]

    return kept(WORK / CACHED, sounds)


def recorded(sounds: Sounds, syllable: str) -> tuple[np.ndarray, str] | None:
    """Its recording and its tone."""
    named = zhuyin(syllable)
    if named is None:
        return None
    name, tone = named
    return next(((sounds[name + other], tone) for other in INSTEAD[tone] if name + other in sounds), None)


def shortened(sound: np.ndarray, share: float) -> np.ndarray:
    """The first `share` of it, faded out."""
    sound = sound[: int(len(sound) * share)].copy()
    fade = min(FADE_SAMPLES, len(sound))
    sound[-fade:] *= np.linspace(1, 0, fade, dtype=np.float32)
    return sound


def in_context(sound: np.ndarray, tone: str, last: bool, rng: random.Random) -> np.ndarray:
    """As it is said among others: a low tone rises before a pause alone, what has no tone is short and soft."""
    if tone == NEUTRAL:
        return shortened(sound, rng.uniform(0.5, 0.8)) * rng.uniform(0.5, 0.9)
    return shortened(sound, rng.uniform(0.6, 0.9)) if tone == LOW and not last else sound


def spoken(sentence: str, sounds: Sounds, rng: random.Random, most_cents: float = MOST_CENTS) -> np.ndarray | None:
    """`sentence`, with its pauses, at sentence tempo, in a slightly other voice each time (its pitch moved by `most_cents` at most); None where a syllable is not known."""
    text = characters(sentence)
    said = syllables(text)
    if len(said) != len(text):
        return None
    parts: list[np.ndarray | None] = []
    fall = rng.uniform(0, MOST_FALL)
    for phrase in filter(None, (characters(p) for p in re.split("[，,、]", sentence))):
        if parts:
            parts.append(None)
        for i in range(len(phrase)):
            found = recorded(sounds, said.pop(0))
            if found is None:
                return None
            sound = at_speed(found[0].astype(np.float32), rng.uniform(0.94, 1.06) * (1 + fall * (0.5 - i / len(phrase))))
            parts.append(in_context(sound, found[1], i == len(phrase) - 1, rng))
    speed, pitch_cents = rng.uniform(0.88, 1.12), rng.uniform(-most_cents, most_cents)
    usual = SECONDS_A_SYLLABLE * SAMPLE_RATE * len(text) / sum(len(p) for p in parts if p is not None)
    return effects(joined(parts, (0.35, 0.7), rng), speed, pitch_cents, rng.uniform(0.75, 1.5) / usual)


def by_somebody(sentence: str, rng: random.Random, most_cents: float = MOST_CENTS) -> np.ndarray | None:
    return spoken(sentence, rng.choice(people()), rng, most_cents)
