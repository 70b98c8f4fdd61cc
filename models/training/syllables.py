"""Sentence -> its syllables with their tones, as espeak-ng says them in that sentence: the second, easier target of the training."""

import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

SENTENCES_AT_ONCE = 2000


def _said(sentences: list[str]) -> list[list[str]]:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write("".join(f"{s}。\n" for s in sentences))
        file.flush()
        command = ["espeak-ng", "-v", "cmn-latn-pinyin", "-q", "-x", "-f", file.name]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip("\n").split("\n")
    if len(lines) != len(sentences):
        raise RuntimeError(f"espeak-ng said {len(lines)} lines for {len(sentences)} sentences")
    return [[s for s in re.sub("[',]", "", line).replace("_|", " ").split()] for line in lines]


def syllables_of(sentences: list[str]) -> dict[str, list[str]]:
    """Of the sentences for which espeak-ng says one syllable a character (nearly all); the sentences are without pauses."""
    parts = [sentences[i : i + SENTENCES_AT_ONCE] for i in range(0, len(sentences), SENTENCES_AT_ONCE)]
    with ThreadPoolExecutor() as pool:
        said = [line for lines in pool.map(_said, parts) for line in lines]
    return {s: heard for s, heard in zip(sentences, said, strict=True) if len(heard) == len(s)}
