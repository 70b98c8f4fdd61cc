import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cuesOf, toSrt, toVtt } from '../../../../client/long/subtitles.ts';

test('a cue a piece, longer ones split in proportion, at the marks of punctuation', () => {
  const text =
    '他笑说自己完全没准备好，但他并未如愿获得高收益。现在孩子的情绪稳定多了，几个外地人靠小猴子挣钱。';
  expect(
    toSrt([
      { text, start_ms: 3_600_000, end_ms: 3_610_000 },
      { text: '今天', start_ms: 3_611_000, end_ms: 3_612_345 },
    ]),
  ).toBe(
    `1
01:00:00,000 --> 01:00:05,000
他笑说自己完全没准备好，
但他并未如愿获得高收益。

2
01:00:05,000 --> 01:00:10,000
现在孩子的情绪稳定多了，
几个外地人靠小猴子挣钱。

3
01:00:11,000 --> 01:00:12,345
今天

`,
  );
  expect(
    toVtt([
      { text: 'AT&T <b>', start_ms: 0, end_ms: 1_005 },
      { text: '', start_ms: 2_000, end_ms: 3_000 },
    ]),
  ).toBe('WEBVTT\n\n00:00:00.000 --> 00:00:01.005\nAT&amp;T &lt;b&gt;\n\n');
});

test('words in Latin letters stay whole', () => {
  const text = '我们今天来说一说怎么用 TypeScript 写一个语音识别';
  expect(cuesOf({ text, start_ms: 0, end_ms: 1 })[0]?.text).toBe(
    '我们今天来说一说怎么用\nTypeScript 写一个语音识别',
  );
});

test('every character is shown once, in at most two lines of 21, and the cues follow one another', () => {
  const character = fc.constantFrom('今', '，', '。', 'a', ' ', '𠮷', '？');
  fc.assert(
    fc.property(
      fc.array(character, { maxLength: 200 }),
      fc.integer({ min: 0, max: 15_000 }),
      (characters, length) => {
        const text = characters.join('');
        const cues = cuesOf({ text, start_ms: 1_000, end_ms: 1_000 + length });
        const shown = cues.map((cue) => cue.text).join('');
        expect(shown.replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
        for (const cue of cues) {
          const lines = cue.text.split('\n');
          expect(lines.length).toBeLessThanOrEqual(2);
          for (const line of lines) expect([...line].length).toBeLessThanOrEqual(21);
        }
        if (cues.length > 0)
          expect([cues[0]?.start_ms, cues.at(-1)?.end_ms]).toEqual([1_000, 1_000 + length]);
        for (const [n, { start_ms }] of cues.entries()) if (n > 0) expect(start_ms).toBe(cues[n - 1]?.end_ms);
      },
    ),
  );
});
