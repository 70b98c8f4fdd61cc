import { expect, test } from 'vitest';
import { languageModelLines } from '../../eval/report.ts';

const TEXTS = [
  { name: 'same.wav', truth: '今天', without: '今天', with: '今天' },
  { name: 'better.wav', truth: '净利润很高', without: '敬离人很高', with: '净利润很高' },
  { name: 'worse.wav', truth: '征信', without: '中信', with: '中心' },
];

test('what the language model changes is counted, and listed with what became worse first', () => {
  expect(languageModelLines(TEXTS, true)).toEqual([
    'language model: 44.4 % without it, 22.2 % with it; 2 texts changed, 1 better, 1 worse',
    '  1 → 2 wrong  worse.wav',
    '    without  中信',
    '    with     中心',
    '  3 → 0 wrong  better.wav',
    '    without  敬离人很高',
    '    with     净利润很高',
  ]);
  expect(languageModelLines(TEXTS, false)).toHaveLength(1);
});
