import { expect, test } from 'vitest';
import { parseHotwords } from '../../../../../inference/engine/postprocessing/hotword-list.ts';

test.each([
  ['a phrase a line', '佐野研二郎\n净利润', { 佐野研二郎: 2.5, 净利润: 2.5 }],
  [
    'with blanks, as sherpa-onnx has them',
    '深 度 学 习\nHELLO WORLD\nT 恤 衫',
    { 深度学习: 2.5, 'HELLO WORLD': 2.5, T恤衫: 2.5 },
  ],
  ['with a score of its own', '入 海 :1.5\n如海 :0\n语音 :10', { 入海: 1.5, 如海: 0, 语音: 10 }],
  [
    'marks in words that are not Chinese',
    'C++\nWi-Fi :3\nC#\na:b :4',
    { 'C++': 2.5, 'Wi-Fi': 3, 'C#': 2.5, 'a:b': 4 },
  ],
  [
    'with digits',
    'iPhone 15\n小米14\nGPT 4\n29度\n三百斤',
    { 'iPhone 15': 2.5, 小米14: 2.5, 'GPT 4': 2.5, '29度': 2.5, 三百斤: 2.5 },
  ],
  [
    'a middle dot in a name, as keyboards have it',
    '埃隆·马斯克\n列夫・托尔斯泰\n让‧雅克·卢梭 :3',
    { 埃隆·马斯克: 2.5, '列夫・托尔斯泰': 2.5, '让‧雅克·卢梭': 3 },
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
  ['the score is no number from 0 to 10', '语音 :高\n识别 :'],
  ['the score is no number from 0 to 10', '语音 :-1\n识别 :10.5'],
  ['a mark beside Chinese', '停车费：2.5\n停车费:2.5'],
  ['a mark beside Chinese', '# 停车费\n停车费、净利润'],
  ['a mark beside Chinese', '停车费 2.5元\n《净利润》'],
  ['a mark beside Chinese', '·马斯克\n马斯克··埃隆'],
  ['repeated', '语音\n语 音 :3\n语音'],
])('it is said which lines are ignored, and why: %s', (reason, text) => {
  const { hotwords, ignored } = parseHotwords(text);
  expect(ignored).toEqual({ [reason]: reason === 'repeated' ? [2, 3] : [1, 2] });
  expect(hotwords).toHaveLength(reason === 'repeated' ? 1 : 0);
});

test('5,000 phrases are used, and those behind them are not', () => {
  const { hotwords, ignored } = parseHotwords(
    Array.from({ length: 5_003 }, (_, i) => `phrase ${i}`).join('\n'),
  );
  expect(hotwords).toHaveLength(5_000);
  expect(hotwords.at(-1)?.phrase).toBe('phrase 4999');
  expect(ignored).toEqual({ 'over 5000 phrases': [5_001, 5_002, 5_003] });
});

// https://github.com/modelscope/FunASR/blob/main/runtime/docs/SDK_advanced_guide_offline_zh.md (hotword.txt)
test('a line as FunASR has it is taken without its weight, and counted', () => {
  const { hotwords, ignored, weighted } = parseHotwords('周杰伦 20\n阿里巴巴\t30\n小米14\nGPT 4\n佐野 :3\n');
  expect(hotwords).toEqual([
    { phrase: '周杰伦', score: 2.5 },
    { phrase: '阿里巴巴', score: 2.5 },
    { phrase: '小米14', score: 2.5 },
    { phrase: 'GPT 4', score: 2.5 },
    { phrase: '佐野', score: 3 },
  ]);
  expect(ignored).toEqual({});
  expect(weighted).toBe(2);
});
