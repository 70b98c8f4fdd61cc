import { expect, test } from 'vitest';
import { parseHotwords } from '../../../../../inference/engine/postprocessing/hotword-list.ts';

test.each([
  ['a phrase a line', '佐野研二郎\n净利润', { 佐野研二郎: 2.5, 净利润: 2.5 }],
  [
    'with blanks, as sherpa-onnx has them',
    '深 度 学 习\nHELLO WORLD\nT 恤 衫',
    { 深度学习: 2.5, 'HELLO WORLD': 2.5, T恤衫: 2.5 },
  ],
  ['with a score of its own', '入 海 :1.5\n如海 :0\n语音 :-1', { 入海: 1.5, 如海: 0, 语音: -1 }],
  [
    'marks in words that are not Chinese',
    'C++\nWi-Fi :3\nC#\na:b :4',
    { 'C++': 2.5, 'Wi-Fi': 3, 'C#': 2.5, 'a:b': 4 },
  ],
  ['from an editor on Windows', '\uFEFF语音\r\n识别\r\n', { 语音: 2.5, 识别: 2.5 }],
  ['with empty lines', '\n语音\n\n  \n识别\n', { 语音: 2.5, 识别: 2.5 }],
  ['32 characters', '语'.repeat(32), { ['语'.repeat(32)]: 2.5 }],
  ['nothing', '', {}],
])('%s is read', (_what, text, scores) => {
  const { hotwords, ignored } = parseHotwords(text);
  expect(Object.fromEntries(hotwords.map(({ phrase, score }) => [phrase, score]))).toEqual(scores);
  expect(ignored).toEqual({});
});

test.each([
  ['one character', '海\nQ'],
  ['no letter', '——\n。 。 :3'],
  ['over 32 characters', `${'语'.repeat(33)}\n${'a'.repeat(33)}`],
  ['the score is no number', '语音 :高\n识别 :'],
  ['a mark beside Chinese', '停车费：2.5\n停车费:2.5'],
  ['a mark beside Chinese', '# 停车费\n停车费、净利润'],
  ['a mark beside Chinese', '停车费 2.5\n《净利润》'],
  ['repeated', '语音\n语 音 :3\n语音'],
])('it is said how many are ignored, and why: %s', (reason, text) => {
  const { hotwords, ignored } = parseHotwords(text);
  expect(ignored).toEqual({ [reason]: 2 });
  expect(hotwords).toHaveLength(reason === 'repeated' ? 1 : 0);
});

test('5,000 phrases are used, and those behind them are not', () => {
  const { hotwords, ignored } = parseHotwords(
    Array.from({ length: 5_003 }, (_, i) => `phrase ${i}`).join('\n'),
  );
  expect(hotwords).toHaveLength(5_000);
  expect(hotwords.at(-1)?.phrase).toBe('phrase 4999');
  expect(ignored).toEqual({ 'over 5000 phrases': 3 });
});
