#!/usr/bin/env python3
"""libime's language model and dictionary -> chinese.lm.gz, and back. Needs Python alone. The same input gives the same file
contents; the bytes of the compression may differ from one zlib to another.

  python pack.py LM.arpa DICTIONARY.txt t2s.tsv chinese.lm.gz     (files that end in .xz are read as they are)
  python pack.py --text chinese.lm.gz LM.arpa DICTIONARY.txt

What is left out: trigrams; words with traditional characters (those that t2s.tsv changes), with characters beyond U+FFFF, or
without a reading; of single characters, readings below 10 %. Scores are rounded to 1/32 of a decimal logarithm.

The file, unpacked by gzip, little-endian:
  u32 x 8      "ZHLM", version 1, then W words, C characters in them, R readings, S syllables in them, B bigrams, N bytes of names
  u8 x N       names of the syllables, with a blank between two
  u8 x W       length of each word. The most frequent word is the first. The last one has no character: it is <unk>
  u16 x C      characters of all words
  u8 x W       log-probability of each word, in 1/32 below 0
  u8 x W       its back-off weight, likewise
  u32 x R      word of each reading. Readings are sorted by their syllables, then by word
  u16 x S      syllables of all readings; a reading has as many as its word has characters
  u32 x W      bigrams that each word begins
  u8 x B x 3   second word of each bigram, less the one of the bigram before of the same first word: low, middle, high bytes
  u8 x B       log-probability of each bigram, as that of a word
"""
import gzip, itertools, lzma, sys
from array import array

UNITS = 32
MAGIC, VERSION = int.from_bytes(b'ZHLM', 'little'), 1
RARE = -2.3  # Natural logarithm of a share of 10 %.


def lines(path):
    with (lzma.open if path.endswith('.xz') else open)(path, 'rt', encoding='utf8') as f:
        yield from (l.rstrip('\n') for l in f)


def units(text):
    return min(255, max(0, round(-UNITS * float(text))))


def read_arpa(path):
    """-> {word: (score, back-off)}, {word: {second word: score}}"""
    words, bigrams, order = {}, {}, 0
    for line in lines(path):
        if line.startswith('\\'):
            order = int(line[1]) if line[2:] == '-grams:' else 0
            continue
        part = line.split('\t')
        if len(part) < 2 or order not in (1, 2):
            continue
        if order == 1:
            words[part[1]] = units(part[0]), units(part[2]) if len(part) > 2 else 0
        else:
            first, second = part[1].split(' ')
            bigrams.setdefault(first, {})[second] = units(part[0])
    return words, bigrams


def read_dictionary(path):
    """-> {word: [readings]}"""
    found = {}
    for line in lines(path):
        part = line.split()
        if len(part) < 2:
            continue
        word, reading = part[0], tuple(part[1].split("'"))
        if len(reading) != len(word) or len(word) == 1 and len(part) > 2 and float(part[2]) < RARE:
            continue
        if reading not in found.setdefault(word, []):
            found[word].append(reading)
    return found


def pack(arpa, dictionary, t2s, out):
    words, bigrams = read_arpa(arpa)
    readings = read_dictionary(dictionary)
    traditional = {a for a, b in (l.split('\t') for l in lines(t2s) if '\t' in l) if a != b}
    kept = [w for w in words if w in readings and not traditional & set(w) and max(w) <= '\uffff']
    kept.sort(key=lambda w: (words[w][0], w))
    ids = {w: i for i, w in enumerate(kept)}
    names = sorted({s for w in kept for r in readings[w] for s in r})
    syllable = {s: i for i, s in enumerate(names)}
    spoken = sorted(([syllable[s] for s in r], ids[w]) for w in kept for r in readings[w])
    rows = [sorted((ids[b], p) for b, p in bigrams.get(w, {}).items() if b in ids) for w in kept] + [[]]
    steps = [b - (row[i - 1][0] if i else 0) for row in rows for i, (b, _) in enumerate(row)]
    names, kept = ' '.join(names).encode(), kept + ['']
    scores = [words[w or '<unk>'] for w in kept]
    sections = [
        array('B', names), array('B', map(len, kept)), array('H', map(ord, ''.join(kept))),
        array('B', (p for p, _ in scores)), array('B', (b for _, b in scores)),
        array('I', (w for _, w in spoken)), array('H', (s for r, _ in spoken for s in r)), array('I', map(len, rows)),
        *(array('B', (step >> shift & 255 for step in steps)) for shift in (0, 8, 16)), array('B', (p for row in rows for _, p in row)),
    ]
    _, lengths, characters, _, _, spoken_words, syllables, *_, bigram_scores = sections
    header = array('I', [MAGIC, VERSION, *map(len, (lengths, characters, spoken_words, syllables, bigram_scores, names))])
    if sys.byteorder == 'big':
        for section in (header, *sections):
            section.byteswap()
    with open(out, 'wb') as f:
        f.write(gzip.compress(b''.join(section.tobytes() for section in (header, *sections)), 9, mtime=0))
    print(len(kept), 'words,', len(spoken), 'readings,', len(steps), 'bigrams')


def text(path, arpa, dictionary):
    data, at = gzip.open(path).read(), 0

    def take(kind, count):
        nonlocal at
        section = array(kind)
        section.frombytes(data[at:at + count * section.itemsize])
        at += count * section.itemsize
        if sys.byteorder == 'big':
            section.byteswap()
        return section

    magic, version, w, c, r, s, b, n = take('I', 8)
    assert (magic, version) == (MAGIC, VERSION), 'another format'
    names = take('B', n).tobytes().decode().split(' ')
    lengths, characters = take('B', w), ''.join(map(chr, take('H', c)))
    words, start = [], 0
    for length in lengths:
        words.append(characters[start:start + length] or '<unk>')
        start += length
    scores, back_offs = take('B', w), take('B', w)
    spoken, syllables, counts = take('I', r), take('H', s), take('I', w)
    low, middle, high, bigram_scores = (take('B', b) for _ in range(4))
    with open(arpa, 'w', encoding='utf8') as f:
        f.write(f'\\data\\\nngram 1={w + 2}\nngram 2={b}\n\n\\1-grams:\n-99\t<s>\t0\n-99\t</s>\n')
        f.writelines(f'{-p / UNITS:g}\t{word}\t{-o / UNITS:g}\n' for p, word, o in zip(scores, words, back_offs))
        f.write('\n\\2-grams:\n')
        bigrams = zip(low, middle, high, bigram_scores)
        for word, count in zip(words, counts):
            second = 0
            for l, m, h, score in itertools.islice(bigrams, count):
                second += l | m << 8 | h << 16
                f.write(f'{-score / UNITS:g}\t{word} {words[second]}\n')
        f.write('\n\\end\\\n')
    with open(dictionary, 'w', encoding='utf8') as f:
        at_syllable = 0
        for word in spoken:
            behind = at_syllable + lengths[word]
            f.write(f"{words[word]}\t{chr(39).join(names[s] for s in syllables[at_syllable:behind])}\n")
            at_syllable = behind


if __name__ == '__main__':
    if sys.argv[1:2] == ['--text'] and len(sys.argv) == 5:
        text(*sys.argv[2:])
    elif len(sys.argv) == 5:
        pack(*sys.argv[1:])
    else:
        sys.exit(__doc__)
