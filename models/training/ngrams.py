"""`ngrams.py`: WORK/ngrams.npz for rescoring.py, what stands together more or less often than by chance in the text that reading.py wrote: two characters, a character and its
own syllable, a character and the syllable behind it, and these two behind a third. Of each kind that is listed whose likelihood tells most.
"""

import numpy as np

from folders import DATA, WORK
from reading import known_parts
from rescoring import CELLS, LEVELS, TRIPLE_LEVELS, cell, mark
from targets import Targets

FILE = "ngrams.npz"
# The share of each part of the text in what is likely: those under which a fourteenth of Tatoeba's sentences, not counted, were likeliest.
SHARES = {"own": 0.67, "drawn": 0.19, "debian": 0.14}
# As many as a file of 10 MB has room for; rescoring.py's cells keep some 120,000 of the triples.
PAIRS, PAIRS_IN_FRONT, TRIPLES = 210000, 105000, 200000
UNLIKELY = -6.0  # the logarithm of how much likelier than by chance a character is where another's syllable is heard
RARELY = 0.02  # of a character's syllables, one less frequent than that is an error of espeak-ng's
LEAST = 1e-12


def counted(first: np.ndarray, second: np.ndarray, sizes: tuple[int, int]) -> np.ndarray:
    pairs = np.zeros(sizes, np.float32)
    np.add.at(pairs, (first, second), 1)
    return pairs


def discount(counts: np.ndarray) -> float:
    """What each is taken from (Ney, Essen and Kneser, "On structuring probabilistic dependences in stochastic language modelling", 1994), to be given to what was not seen."""
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    return once / (once + 2 * twice)


def given_first(pairs: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """Counts -> how likely the second is after the first; what is taken from those seen is given to all by how usual they are."""
    taken, of_each = discount(pairs), np.maximum(pairs.sum(1, keepdims=True), LEAST)
    left = np.where(pairs.any(1, keepdims=True), taken * (pairs > 0).sum(1, keepdims=True) / of_each, 1)
    return np.maximum(pairs - taken, 0) / of_each + left * usual


class Part:
    """A part of the text, (2, n) of reading.py: how likely each character is after each (after 0: at the start of a sentence), and each syllable behind each character."""

    def __init__(self, part: np.ndarray, characters: int, syllables: int):
        written, said = part.astype(np.int64)
        here = np.nonzero(written)[0]
        pairs = counted(written[here - 1], written[here], (characters, characters))
        self.first, self.second = pairs.sum(1) / len(here), pairs.sum(0) / len(here)
        self.after = given_first(pairs, self.second)
        here = here[written[here + 1] > 0]
        behind = counted(written[here], said[here + 1], (characters, syllables))
        self.behind = given_first(behind, behind.sum(0) / len(here))
        context = written[here - 1] * characters + written[here]
        self.triples, self.counts = np.unique(context * syllables + said[here + 1], return_counts=True)
        self.contexts, of = np.unique(self.triples // syllables, return_inverse=True)
        self.totals = np.bincount(of, self.counts)
        self.taken = discount(self.counts)
        self.left = self.taken * np.bincount(of) / self.totals
        self.syllables = syllables

    def left_in(self, contexts: np.ndarray) -> np.ndarray:
        """Of what follows two characters, the share that is told by the second alone."""
        at, found = _found(self.contexts, contexts)
        return np.where(found, self.left[at], 1)

    def behind_two(self, triples: np.ndarray, behind: np.ndarray) -> np.ndarray:
        at, found = _found(self.triples, triples)
        context = triples // self.syllables
        total = self.totals[_found(self.contexts, context)[0]]
        return np.where(found, np.maximum(self.counts[at] - self.taken, 0) / total, 0) + self.left_in(context) * behind


def _found(sorted_: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    at = np.searchsorted(sorted_, wanted).clip(0, len(sorted_) - 1)
    return at, sorted_[at] == wanted


def most(tells: np.ndarray, count: int) -> np.ndarray:
    return np.argpartition(-tells, min(count, len(tells) - 1))[:count]


def telling(together: np.ndarray, apart: np.ndarray, count: int) -> tuple[np.ndarray, float]:
    """Probabilities of all pairs, and what they were if none of two knew of the other -> logarithms of the ratio for the `count` that tell most, NaN for the others; that of the others in the mean."""
    ratio = np.log(np.maximum(together, LEAST) / np.maximum(apart, LEAST))
    listed = np.zeros(together.size, bool)
    listed[most((together * np.abs(ratio - np.median(ratio[together > 0]))).ravel(), count)] = True
    listed = listed.reshape(together.shape)
    return np.where(listed, ratio, np.nan), np.log(together[~listed].sum() / apart[~listed].sum())


def in_levels(ratio: np.ndarray, rest: float, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms, NaN where none is listed -> levels, 0 there and else in even steps; what each level is worth, no logarithm any more."""
    low, high = np.nanquantile(ratio, [0.001, 0.999])
    step = (high - low) / (levels - 2)
    level = 1 + np.round((np.clip(ratio, low, high) - low) / step)
    return np.where(np.isnan(ratio), 0, level).astype(np.uint8), np.exp([rest, *(low + step * np.arange(levels - 1))])


def triples(parts: list[Part], shares: np.ndarray, pairs: np.ndarray, behind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Likelihoods of all pairs, and of the syllables behind each character -> the cells of rescoring.py, and what a level is worth: how much likelier the syllable is if both are known.
    Of what falls into one cell, that stays which tells most."""
    characters, syllables = behind.shape
    keys = np.unique(np.concatenate([part.triples for part in parts]))
    contexts = np.unique(keys // syllables)
    before, character, syllable = keys // syllables // characters, keys // syllables % characters, keys % syllables
    alone = behind[character, syllable]
    known = sum(share * part.behind_two(keys, part.behind[character, syllable]) for share, part in zip(shares, parts, strict=True))
    # Beside each triple what its pair says of all other syllables, in the place of syllable 0.
    others = sum(share * part.left_in(contexts) for share, part in zip(shares, parts, strict=True))
    ratio = np.log(np.concatenate([known / np.maximum(alone, LEAST), others]))
    of_context = pairs.ravel()
    tells = np.concatenate([of_context[keys // syllables] * known, of_context[contexts] * others]) * np.abs(ratio)
    before, character = np.concatenate([before, contexts // characters]), np.concatenate([character, contexts % characters])
    syllable = np.concatenate([syllable, np.zeros_like(contexts)])
    kept = most(tells, TRIPLES)
    kept = kept[np.argsort(tells[kept])]
    level, worth = in_levels(ratio[kept], 0, TRIPLE_LEVELS)
    names = before[kept], character[kept], syllable[kept]
    cells = np.zeros(CELLS, np.uint16)
    cells[cell(*names)] = mark(*names) * TRIPLE_LEVELS + level
    return cells, worth


def main():
    targets = Targets(DATA, WORK)
    sizes = targets.sizes[:2]
    arrays = known_parts(SHARES, targets)
    shares = np.array([SHARES[name] for name in arrays]) / sum(SHARES[name] for name in arrays)
    parts = [Part(array, *sizes) for array in arrays.values()]
    first, second, after, behind = (sum(share * getattr(part, name) for share, part in zip(shares, parts, strict=True)) for name in ("first", "second", "after", "behind"))
    said = np.concatenate(list(arrays.values()), 1).astype(np.int64)
    own = counted(*said[:, said[0] > 0], sizes)
    frequent = np.maximum(own.sum(0) / own.sum(), 1e-6)
    own /= np.maximum(own.sum(1, keepdims=True), 1)
    pairs, in_front = first[:, None] * after, second[:, None] * behind
    experts = [
        telling(pairs, first[:, None] * second, PAIRS),
        (np.log(np.where(own > RARELY, own, np.nan) / frequent), UNLIKELY),
        telling(in_front, second[:, None] * in_front.sum(0), PAIRS_IN_FRONT),
    ]
    (after_levels, own_levels, front_levels), worth = zip(*(in_levels(*expert, LEVELS) for expert in experts), strict=True)
    levels = np.concatenate([after_levels.T, own_levels, front_levels], 1)
    cells, triple_worth = triples(parts, shares, pairs, behind)
    usual = np.log(np.maximum(second, 1e-9))
    np.savez_compressed(
        WORK / FILE, levels=levels, worth=np.float32(worth), cells=cells, triple_worth=np.float32(triple_worth), usual=np.float32(usual)
    )
    print(f"{np.count_nonzero(levels)} pairs, {np.count_nonzero(cells)} triples", flush=True)


if __name__ == "__main__":
    main()
