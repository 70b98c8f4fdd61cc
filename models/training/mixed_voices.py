"""New espeak-ng voices, put together from the training ones: whose pitch and breath, whose mouth, whose colour and whose timing is drawn for each.

The 83 variants are few, and what is rare in them (five hurry through every syllable) comes too seldom. A voice nobody heard is made of such parts.
"""

import os
import random
import shutil
import subprocess
from functools import cache
from pathlib import Path

from voices import TRAINING_VOICES

SOURCE = "flutter", "roughness", "voicing", "breath", "breathw", "echo", "klatt"
MOUTH = "formant"
COLOUR = "tone", "consonants"
DRAWN_COLOUR_SHARE = 0.5
COLOUR_HZ = 100, 600, 1200, 2000, 3000, 4500
STEEPEST_FALL_DB, STEEPEST_RISE_DB = 16, 6  # from each of these to the next
TIMING = "stressLength", "stressAdd", "stressAmp", "intonation"
HURRIED = "stressLength"  # all that have this attribute take two thirds of the others' time
HURRIED_SHARE = 0.4
HURRIED_FASTEST = 300  # words a minute
LOWEST_PITCH_HZ, HIGH_PITCH_HZ, HIGHEST_PITCH_HZ = 60, 150, 300  # at the lower end of a voice's range
HIGH_SHARE = 0.6  # Drawn evenly, high voices would be two fifths and the worst heard: with harmonics so far apart, vowels are hard to tell.
NAME = "mixed"
Attributes = list[tuple[str, list[str]]]


@cache
def espeak_data() -> Path:
    version = subprocess.run(["espeak-ng", "--version"], capture_output=True, text=True, check=True).stdout
    return Path(version.split("Data at:")[1].strip())


@cache
def variants() -> list[Attributes]:
    """What the training voices' files say, comments left out."""
    found = []
    for name in filter(None, TRAINING_VOICES):
        lines = (espeak_data() / "voices/!v" / name).read_text(encoding="utf-8").splitlines()
        words = [line.split("//")[0].split("#")[0].split() for line in lines]
        found.append([(w[0], w[1:]) for w in words if len(w) > 1])
    return found


def lines_of(attributes: Attributes, names: tuple[str, ...]) -> list[str]:
    return [" ".join([name, *values]) for name, values in attributes if name in names]


def formants(attributes: Attributes, rng: random.Random) -> list[str]:
    """Those of one voice in a mouth of another size, each a little elsewhere, louder or softer, wider or narrower."""
    size = rng.uniform(0.9, 1.12)
    lines = []
    for name, values in attributes:
        if name != MOUTH:
            continue
        number, frequency, height, width = [*map(float, values[:4]), 100.0, 100.0, 100.0][:4]
        moved = frequency * size * rng.gauss(1, 0.04), height * rng.uniform(0.6, 1.4), width * rng.uniform(0.8, 1.3)
        lines.append(" ".join([name, f"{number:.0f}", *(f"{value:.0f}" for value in moved), *values[4:]]))
    return lines


def drawn_colour(rng: random.Random) -> list[str]:
    """Weaker or stronger from each of COLOUR_HZ to the next: of what is steep, noise hides the upper formants, and few variants are."""
    heights = [1.0]
    for _ in COLOUR_HZ[1:]:
        heights.append(heights[-1] * 10 ** (rng.uniform(-STEEPEST_FALL_DB, STEEPEST_RISE_DB) / 20))
    tone = " ".join(f"{hz} {max(10, 255 * height / max(heights)):.0f}" for hz, height in zip(COLOUR_HZ, heights, strict=True))
    return [f"tone {tone}", f"consonants {rng.uniform(50, 120):.0f} {rng.uniform(40, 120):.0f}"]


def mixed_voice(rng: random.Random) -> tuple[str, bool]:
    """(what espeak-ng's variant file says, whether this voice hurries)"""
    hurried = rng.random() < HURRIED_SHARE
    timed = [v for v in variants() if any(name == HURRIED for name, _ in v) == hurried]
    source, mouth, colour = rng.choices(variants(), k=3)
    coloured = drawn_colour(rng) if rng.random() < DRAWN_COLOUR_SHARE else lines_of(colour, COLOUR)
    lowest, highest = (HIGH_PITCH_HZ, HIGHEST_PITCH_HZ) if rng.random() < HIGH_SHARE else (LOWEST_PITCH_HZ, HIGH_PITCH_HZ)
    low = lowest * (highest / lowest) ** rng.random()
    lines = ["language variant", f"name {NAME}", f"pitch {low:.0f} {low * rng.uniform(1.2, 1.8):.0f}"]
    lines += lines_of(source, SOURCE) + formants(mouth, rng) + coloured + lines_of(rng.choice(timed), TIMING)
    return "\n".join(lines) + "\n", hurried


@cache
def _own_data(work: Path) -> Path:
    """A folder with espeak-ng's data and a place for variants of this process."""
    home = work / f"espeak-{os.getpid()}"
    data = home / "espeak-ng-data"
    (data / "voices/!v").mkdir(parents=True, exist_ok=True)
    for entry in espeak_data().iterdir():
        link = data / entry.name
        if entry.name != "voices" and not link.is_symlink():
            link.symlink_to(entry)
    return home


def written(variant: str, work: Path) -> Path:
    """The folder to give espeak-ng as --path, where it finds the variant as NAME; good until the next call."""
    home = _own_data(work)
    (home / "espeak-ng-data/voices/!v" / NAME).write_text(variant, encoding="utf-8")
    return home


def clear(work: Path):
    for home in work.glob("espeak-*"):
        shutil.rmtree(home)
