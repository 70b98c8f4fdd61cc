"""Text to speak: Tatoeba's sentences, and new ones sampled from a word trigram model.

The 26,500 sentences of Tatoeba teach the sounds but not which of several characters with one sound is
meant. open-gram (Debian's sunpinyin-data, web text, CC BY-SA 3.0) knows 2.5 million word pairs and a
million triples; sentences sampled from it, mixed word by word with the triples of Tatoeba's training
sentences, carry that knowledge into the training audio.
"""

import bisect
import gzip
import math
import random
import re
import subprocess
from array import array
from collections import defaultdict
from pathlib import Path

VALIDATION_SENTENCES = 400
COMMA, FULL_STOP, QUESTION, EXCLAMATION = 70, 71, 73, 74  # open-gram's word numbers
FIRST_WORD = 100
ENDS = {FULL_STOP, QUESTION, EXCLAMATION}
START, END = -1, -2
LM_DIR = Path("/usr/lib/x86_64-linux-gnu/sunpinyin/data")


def tatoeba(path: Path) -> tuple[list[str], list[str]]:
    """(training, held-out) sentences; the split is fixed, so every model is judged on the same text."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        sentences = file.read().split("\n")
    random.Random(1).shuffle(sentences)
    held_out = sentences[:VALIDATION_SENTENCES]
    spoken = {characters(s) for s in held_out}
    training = [s for s in sentences[VALIDATION_SENTENCES:] if characters(s) not in spoken]
    return training, held_out


def characters(sentence: str) -> str:
    """The sentence as the model is to write it: without the punctuation that only makes pauses."""
    return re.sub("[，,、 ]", "", sentence)


def lexicon(path: Path) -> list[str]:
    """Words of SunPinyin's pydict_sc.bin by number: UTF-32 strings at the offset that its third header word gives."""
    data = array("I")
    raw = path.read_bytes()
    data.frombytes(raw[: len(raw) // 4 * 4])
    words, word = [], []
    for code in data[data[2] // 4 :]:
        if code:
            word.append(chr(code))
        else:
            words.append("".join(word))
            word = []
    return words


class Successors:
    """What may follow each context, with cumulative probabilities for drawing."""

    def __init__(self):
        self.words = defaultdict(lambda: array("i"))
        self.cumulative = defaultdict(lambda: array("d"))

    def add(self, context, word: int, weight: float):
        self.words[context].append(word)
        sums = self.cumulative[context]
        sums.append((sums[-1] if sums else 0.0) + weight)

    def total(self, context) -> float:
        sums = self.cumulative.get(context)
        return sums[-1] if sums else 0.0

    def draw(self, context, rng: random.Random) -> int:
        sums = self.cumulative[context]
        return self.words[context][bisect.bisect(sums, rng.random() * sums[-1])]


class SentenceSampler:
    """Draws sentences word by word from open-gram and from Tatoeba's own word triples."""

    def __init__(self, sentences: list[str], tatoeba_share: float = 0.5, lm_dir: Path = LM_DIR):
        self.tatoeba_share = tatoeba_share
        self.words = lexicon(lm_dir / "pydict_sc.bin")
        alphabet = {c for s in sentences for c in characters(s)}
        real = range(FIRST_WORD, len(self.words))
        self.usable = {i for i in real if alphabet.issuperset(self.words[i])} | ENDS | {COMMA}
        self.unigram: dict[int, float] = {}
        self.bigram, self.trigram = Successors(), Successors()
        self._read_arpa(lm_dir / "lm_sc.t3g")
        self.number = {self.words[i]: i for i in self.unigram}
        self.own = Successors()
        self._count(sentences)

    def _read_arpa(self, path: Path):
        dump = subprocess.Popen(["tslminfo", "-v", "-p", str(path)], stdout=subprocess.PIPE, text=True)
        order = 0
        for line in dump.stdout:
            if line[0] == "\\":
                order = int(line[1])
                continue
            fields = line.split()
            ids = tuple(map(int, fields[:order]))
            if order == 0 or not self.usable.issuperset(ids):
                continue
            weight = float(fields[order])
            if order == 1:
                self.unigram[ids[0]] = weight
            elif order == 2:
                self.bigram.add(ids[0], ids[1], weight)
            else:
                self.trigram.add(ids[:2], ids[2], weight)
        if dump.wait() != 0:
            raise RuntimeError(f"tslminfo could not read {path}")

    def segment(self, text: str) -> list[int] | None:
        """The likeliest words of a sentence by their unigram probability, or None where a character has none."""
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)]
        for end in range(1, len(text) + 1):
            options = []
            for length in range(1, min(6, end) + 1):
                word = self.number.get(text[end - length : end])
                before = best[end - length]
                if word is not None and before is not None:
                    options.append((before[0] - math.log(self.unigram[word] + 1e-12), end - length, word))
            best.append(min(options) if options else None)
        if best[-1] is None:
            return None
        words, end = [], len(text)
        while end:
            _, end, word = best[end]
            words.append(word)
        return words[::-1]

    def _count(self, sentences: list[str]):
        counts = defaultdict(lambda: defaultdict(int))
        for sentence in sentences:
            words = self.segment(re.sub("[,、]", "，", sentence).replace(" ", ""))
            if words is None:
                continue
            path = [START, START, *words, END]
            for i in range(2, len(path)):
                counts[(path[i - 2], path[i - 1])][path[i]] += 1
                counts[path[i - 1]][path[i]] += 1
        for context, following in counts.items():
            # A pair seen with one successor only would repeat the sentence it comes from.
            if isinstance(context, tuple) and len(following) < 2:
                continue
            for word, count in following.items():
                self.own.add(context, word, count)

    def _next(self, before: int, last: int, rng: random.Random) -> int:
        if rng.random() < self.tatoeba_share or last == START:
            if self.own.total((before, last)) and rng.random() < 0.7:
                return self.own.draw((before, last), rng)
            if self.own.total(last):
                return self.own.draw(last, rng)
        if rng.random() < self.trigram.total((before, last)):
            return self.trigram.draw((before, last), rng)
        if self.bigram.total(last):
            return self.bigram.draw(last, rng)
        return END

    def sentence(self, rng: random.Random, shortest: int = 4, longest: int = 18) -> str:
        """One sentence of `shortest` to `longest` characters, commas kept as pauses."""
        while True:
            before, last, text = START, START if rng.random() < 0.6 else COMMA, ""
            while len(text) <= longest:
                word = self._next(before, last, rng)
                if word == END or word in ENDS:
                    break
                text += self.words[word]
                before, last = last, word
            text = text.strip("，")
            if shortest <= len(characters(text)) and len(text) <= longest:
                return text
