"""What the network may write: characters, and beside them their syllables and the tones of these."""

import re
from pathlib import Path

from syllables import syllables_of
from text import characters, tatoeba
from voices import recorded_words

BLANK = "<blk>"
PAUSE = " "  # in the text of two utterances that are one recording


class Targets:
    """Numbers of characters and of their toned syllables, 0 is the blank of both; and of tones, which have none."""

    def __init__(self, data: Path, work: Path):
        sentences, held_out = tatoeba(data / "sentences.txt.gz")
        words = recorded_words(data / "hsk-words-24k.tar", work / "words.pkl")
        alphabet = sorted({c for text in (*sentences, *held_out, *words) for c in characters(text)})
        self.tokens = [BLANK, *alphabet]
        self.character = {c: i for i, c in enumerate(self.tokens)}
        said = syllables_of([*alphabet, *sorted({characters(s) for s in sentences})])
        self.inventory = [BLANK, *sorted({s for heard in said.values() for s in heard})]
        self._number = {s: i for i, s in enumerate(self.inventory)}
        of_each = [re.sub("[^0-9]", "", s) for s in self.inventory]
        contours = sorted(set(of_each))
        self.tone = [contours.index(contour) for contour in of_each]
        """Of each syllable."""
        self.sizes = len(self.tokens), len(self.inventory), len(contours)
        self._said: dict[str, list[int]] = {"": []}

    def characters(self, text: str) -> list[int]:
        return [self.character[c] for c in text if c != PAUSE]

    def pronounce(self, texts: set[str]):
        """Looks up what `syllables` is to know."""
        for text, heard in syllables_of(sorted(texts)).items():
            if self._number.keys() >= set(heard):
                self._said[text] = [self._number[s] for s in heard]

    def syllables(self, text: str) -> list[int] | None:
        """None where espeak-ng's syllables do not fit the characters one by one."""
        said = [self._said.get(utterance) for utterance in text.split(PAUSE)]
        return None if None in said else [syllable for utterance in said for syllable in utterance]

    def tones(self, text: str) -> list[int] | None:
        """One a character, as espeak-ng names them ("51" falls), or None as above."""
        syllables = self.syllables(text)
        return None if syllables is None else [self.tone[s] for s in syllables]

    def text(self) -> str:
        """What tokens.txt says."""
        return "\n".join(f"{t} {i}" for i, t in enumerate(self.tokens))
