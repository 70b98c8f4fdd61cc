"""What the network may write: characters, and beside them their syllables."""

from pathlib import Path

from syllables import syllable_of
from text import characters, tatoeba
from voices import recorded_words

BLANK = "<blk>"


class Targets:
    """Numbers of characters and of their syllables; 0 is the blank of both."""

    def __init__(self, data: Path, work: Path):
        sentences, held_out = tatoeba(data / "sentences.txt.gz")
        words = recorded_words(data / "hsk-words-24k.tar", work / "words.pkl")
        alphabet = sorted({c for text in (*sentences, *held_out, *words) for c in characters(text)})
        self.tokens = [BLANK, *alphabet]
        said = syllable_of(alphabet)
        self.inventory = [BLANK, *sorted(set(said.values()))]
        self.character = {c: i for i, c in enumerate(self.tokens)}
        number = {s: i for i, s in enumerate(self.inventory)}
        self.syllable = {c: number[said[c]] for c in alphabet}

    def write(self, path: Path):
        path.write_text("".join(f"{t} {i}\n" for i, t in enumerate(self.tokens)).removesuffix("\n"), encoding="utf-8")
