import { describe, expect, test } from 'vitest';
import { echoesPrompt } from '../../../../../../inference/engine/families/whisper/guards.ts';
import {
  saysAgain,
  settledText,
  withStops,
} from '../../../../../../inference/engine/families/whisper/text.ts';
import type { Judge } from '../../../../../../inference/engine/postprocessing/judge.ts';

/** Texts of the bundled model, as the whole recording and as its pieces. */
const [BOOK, STOP, SEARCH] = ['他笑说自己完全没准备好。', '将严格落石楼市调控政策。', '想听歌曲至青春'];
const UNMARKED = BOOK.slice(0, -1);

/** @param seconds of speech in each piece; a sentence of ten letters has about three. */
function settled(whole: string, pieces: readonly string[], seconds = 3.5): string {
  return settledText(
    whole,
    pieces.map((text) => ({ text, seconds })),
  );
}

describe('a sentence that is lost', () => {
  test.each([
    ['behind a pause', BOOK, [BOOK, STOP], `${UNMARKED}${STOP}`],
    ['before a pause', STOP, [BOOK, STOP], `${UNMARKED}${STOP}`],
    ['between two others', SEARCH + STOP, [SEARCH, BOOK, STOP], `${SEARCH}${UNMARKED}${STOP}`],
    ['that was said twice', BOOK, [BOOK, BOOK], `${UNMARKED}${BOOK}`],
    ['that is a number, said twice', BOOK, [BOOK, '139139'], `${UNMARKED}139139`],
    ['between digits or Latin letters', '29', ['打开maps。', 'open file', '29'], '打开maps open file 29'],
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
    expect(settled('打开', ['打开maps打开maps', '想听歌曲想听歌曲想听'], 1)).toBe('打开maps想听歌曲');
  });

  test.each([
    ['a word that there was time for twice', ['谢谢大家谢谢大家', SEARCH], 2, `谢谢大家谢谢大家${SEARCH}`],
    ['digits, however fast', ['139139139', SEARCH], 0.5, `139139139${SEARCH}`],
  ])('but %s stays', (_what, pieces, seconds, text) => {
    expect(settled('', pieces, seconds)).toBe(text);
  });

  test('is not told by a piece that says itself again', () => {
    // A telephone number with a pause of 0.7 s.
    const whole = '一三四七一五二七四三零九';
    expect(settled(whole, ['一三四七', '152704309152704309'], 2)).toBe(whole);
  });

  test('of a piece without text leaves no mark', () => {
    expect(settled('你好', ['', SEARCH, '', BOOK])).toBe(`${SEARCH}${BOOK}`);
  });
});

describe('a sentence that the whole says again', () => {
  test('goes, and the pieces are the text', () => {
    expect(settled(`${BOOK}${STOP}${STOP}${STOP}`, [BOOK, STOP])).toBe(`${UNMARKED}${STOP}`);
    expect(
      settled(
        '设定 29多为了重整智能手机业我为了重整智能手机业我',
        ['设定 29多', '为了重整智能手机业我。'],
        1.9,
      ),
    ).toBe('设定 29多为了重整智能手机业我。');
    expect(
      settled(
        '金五家庭中国现在处于绝对安全位置中国现在处于绝对安全位置',
        ['金五家庭', '中国现在处于绝对安全未知。'],
        2.2,
      ),
    ).toBe('金五家庭中国现在处于绝对安全未知。');
  });

  test('goes, and another one that is lost comes back', () => {
    expect(settled(`${STOP}${STOP}`, ['我们走吧', STOP], 2)).toBe(`我们走吧${STOP}`);
  });

  test('stays where the pieces say it, too', () => {
    expect(settled(BOOK + BOOK, [BOOK, BOOK], 2)).toBe(BOOK + BOOK);
  });

  test('stays where there was time to say it twice', () => {
    const [whole, pieces] = ['手臂肌肉十分发打手臂肌肉十分发打', ['手臂', '肌肉十分发打']];
    expect(settled(whole, pieces, 2)).toBe(whole);
    expect(settled(whole, pieces, 1)).toBe('手臂肌肉十分发打');
  });

  test('stays where its pieces are not understood', () => {
    expect(settled(BOOK + BOOK, ['', ''])).toBe(BOOK + BOOK);
  });
});

const [SUSHI, NOBODY] = ['九井日本料理', '没有人会预料到'];

describe('a full stop', () => {
  /** Of the bundled model. */
  const STOPS_NATS = {
    [`${SUSHI}。${NOBODY}`]: -0.14,
    '出库时被收取两块钱停车费。13566730717': -2.89,
    '中国现在处于。绝对安全位置': -10.13,
    '13475274309。设定29': -2,
  };
  /** @returns 0 for a text without a stop. */
  const judge: Judge = async (texts) =>
    texts.map((text) => ({ nats: new Map(Object.entries(STOPS_NATS)).get(text) ?? 0, alternatives: [] }));

  test.each([
    ['at a joint', SUSHI + NOBODY, [SUSHI, NOBODY], `${SUSHI}。${NOBODY}`],
    ['for a blank', `${SUSHI} ${NOBODY}`, [SUSHI, NOBODY], `${SUSHI}。${NOBODY}`],
    [
      'in front of a number',
      '出库时被收取两块钱停车费13566730717',
      ['停车费', '135-6-6-730-717'],
      '出库时被收取两块钱停车费。13566730717',
    ],
    ['behind a number', '13475274309设定29', ['一三四七五二七四三零九', '设定29'], '13475274309。设定29'],
  ])('is put %s where the judge agrees', async (_where, text, pieces, stopped) => {
    expect(await withStops(text, pieces, judge)).toBe(stopped);
  });

  test('is not put where the judge does not', async () => {
    // A pause of 0.7 s within a sentence.
    const text = '中国现在处于绝对安全位置';
    expect(await withStops(text, ['中国现在处于。', '绝对安全位置。'], judge)).toBe(text);
  });

  test.each([
    ['where a mark is', `${SUSHI},${NOBODY}`, [SUSHI, NOBODY]],
    ['where the letters are others', `九井日本料里${NOBODY}`, [SUSHI, NOBODY]],
    ['where the letters stand twice', '理没有理没有', ['理', '没有理没有']],
    // Telephone numbers with pauses of 0.7 and 1 s between their groups.
    ['between two Chinese digits', '一三九二五八零零四五七', ['一三九二五八零零', '四五七']],
    ['between two digits', '13925800457', ['13925800', '四五七']],
  ])('is not put %s, whatever the judge says', async (_where, text, pieces) => {
    expect(
      await withStops(text, pieces, async (texts) => texts.map((_, nats) => ({ nats, alternatives: [] }))),
    ).toBe(text);
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
