import { describe, expect, test } from 'vitest';
import { echoesPrompt } from '../../../../../inference/engine/families/whisper-guards.ts';
import { saysAgain, settledText } from '../../../../../inference/engine/families/whisper-text.ts';

/** Texts of the bundled model, as the whole recording and as its pieces. */
const [BOOK, STOP, SEARCH] = ['他笑说自己完全没准备好。', '将严格落石楼市调控政策。', '想听歌曲至青春'];

/** @param seconds of each piece; a sentence of ten letters takes about three. */
function settled(whole: string, pieces: readonly string[], seconds = 3.5): string {
  return settledText(
    whole,
    pieces.map((text) => ({ text, seconds })),
  );
}

describe('a sentence that is lost', () => {
  test.each([
    ['behind a pause', BOOK, [BOOK, STOP], BOOK + STOP],
    ['before a pause', STOP, [BOOK, STOP], BOOK + STOP],
    ['between two others', SEARCH + STOP, [SEARCH, BOOK, STOP], `${SEARCH}。${BOOK}${STOP}`],
    ['that was said twice', BOOK, [BOOK, BOOK], BOOK + BOOK],
  ])('%s comes from the pieces', (_where, whole, pieces, text) => {
    expect(settled(whole, pieces)).toBe(text);
  });

  test.each([
    ['two syllables more', '你好，我们走吧', ['你好', '我们一起走吧']],
    [
      'three syllables more, but less than 15 %',
      '一二三四五六七八九十'.repeat(3),
      ['一二三四五六七八九十'.repeat(2), '零零零一二三四五六七八九十'],
    ],
    ['Latin letters, which are no syllables', '打开地图', ['open', '打开地图']],
  ])('is not told by %s', (_what, whole, pieces) => {
    expect(settled(whole, pieces, 20)).toBe(whole);
  });

  test('and what the pieces say twice by mistake is cut first', () => {
    expect(settled('打开', ['打开maps打开maps', '想听歌曲想听歌曲想听'])).toBe('打开maps。想听歌曲');
  });

  test('of a piece without text leaves no mark', () => {
    expect(settled('你好', ['', SEARCH, '', BOOK])).toBe(`${SEARCH}。${BOOK}`);
  });
});

describe('a sentence that the whole says again', () => {
  test('goes, and the pieces are the text', () => {
    expect(settled(`${BOOK}${STOP}${STOP}${STOP}`, [BOOK, STOP])).toBe(BOOK + STOP);
    expect(
      settled(
        '设定 29多为了重整智能手机业我为了重整智能手机业我',
        ['设定 29多', '为了重整智能手机业我。'],
        2.4,
      ),
    ).toBe('设定 29多。为了重整智能手机业我。');
  });

  test('goes, and the rest of the whole is the text where it is nothing else', () => {
    expect(
      settled('再次释放坚决执行房地产调控信号。再次释放坚决执行房地产调控信号。', [
        '在此释放坚决执行房地产调控信号。',
      ]),
    ).toBe('再次释放坚决执行房地产调控信号');
  });

  test('goes, and another one that is lost comes back', () => {
    expect(settled(`${STOP}${STOP}`, ['我们走吧', STOP], 2)).toBe(`我们走吧。${STOP}`);
  });

  test('stays where the pieces say it, too', () => {
    expect(settled(BOOK + BOOK, [BOOK, BOOK], 2)).toBe(BOOK + BOOK);
  });

  test('stays where there was time to say it twice', () => {
    expect(settled('手臂肌肉十分发打手臂肌肉十分发打', ['手臂肌肉十分发打'], 4.2)).toBe(
      '手臂肌肉十分发打手臂肌肉十分发打',
    );
    expect(settled('手臂肌肉十分发打手臂肌肉十分发打', ['手臂肌肉十分发打'], 2)).toBe('手臂肌肉十分发打');
  });

  test('stays where its piece is not understood', () => {
    expect(settled(BOOK + BOOK, [''])).toBe(BOOK + BOOK);
  });
});

describe('a full stop', () => {
  test.each([
    [
      'is put at a joint',
      '九井日本料理没有人会预料到',
      ['九井日本料理', '没有人会预料到'],
      '九井日本料理。没有人会预料到',
    ],
    [
      'is put for a blank',
      '九井日本料理 没有人会预料到',
      ['九井日本料理', '没有人会预料到'],
      '九井日本料理。没有人会预料到',
    ],
    [
      'is not put where a mark is',
      '九井日本料理,没有人会预料到',
      ['九井日本料理', '没有人会预料到'],
      '九井日本料理,没有人会预料到',
    ],
    [
      'is not put where the letters are others',
      '九井日本料里没有人会预料到',
      ['九井日本料理', '没有人会预料到'],
      '九井日本料里没有人会预料到',
    ],
    ['is not put where the letters stand twice', '理没有理没有', ['理', '没有理没有'], '理没有理没有'],
    ['is put at a digit', '13475274309设定29', ['一三四七五二七四三零九', '设定29'], '13475274309。设定29'],
  ])('%s', (_what, whole, pieces, text) => {
    expect(settled(whole, pieces)).toBe(text);
  });
});

test.each([
  ['江阳阁落石楼市。江阳阁落石楼市', true],
  ['想听歌曲唱着情歌想听歌曲不再联系', true],
  ['好的好的好的好的', false],
  ['一三一三一三一三一三', false],
  ['他笑说自己完全没准备好', false],
  ['', false],
])('%s says something again: %s', (text, again) => {
  expect(saysAgain(text)).toBe(again);
});

test.each([
  ['以下是普通话的句子。', true],
  ['这也是普通话的句子。', true],
  ['普通话的句子。普通话的句子。', true],
  ['以下的普通话的句子。', true],
  ['我们说普通话', false],
  ['他笑说自己完全没准备好。', false],
  ['是', false],
  ['', false],
])('%s is mostly of the prompt: %s', (text, isEcho) => {
  expect(echoesPrompt(text)).toBe(isEcho);
});
