import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { WhisperJudge } from '../../../../../../inference/engine/families/whisper/judge.ts';
import {
  whisperLayout,
  whisperVocabulary,
} from '../../../../../../inference/engine/families/whisper/layout.ts';
import { readOnnxOutline } from '../../../../../../inference/engine/onnx/onnx-reader.ts';
import { readSimplify, type Simplify } from '../../../../../../inference/engine/text/chinese-text.ts';
import { readTokenTable } from '../../../../../../inference/engine/text/tokens.ts';
import { modelFolders } from '../../../../../../models/store/store.ts';
import { ScriptedDecoder } from '../../search/scripted-decoder.ts';

let vocabulary: ReturnType<typeof whisperVocabulary>;
let vocabularySize: number;
let simplify: Simplify;

beforeAll(async () => {
  const { bundled } = modelFolders();
  const encoder = await readOnnxOutline(join(bundled, 'encoder.int8.onnx'));
  const layout = whisperLayout(encoder, await readOnnxOutline(join(bundled, 'decoder.int8.onnx')));
  vocabulary = whisperVocabulary(encoder, layout, await readTokenTable(join(bundled, 'tokens.txt')));
  vocabularySize = layout.vocabularySize;
  simplify = await readSimplify();
});

const idOf = (token: string): number => vocabulary.tokens.encode(token)[0] ?? -1;

/** A recording that says 今天, then whatever; `others` in the place of its first token. */
function judgeOf(others: Readonly<Record<string, number>>) {
  const { rules } = vocabulary;
  const first = Object.fromEntries(Object.entries(others).map(([token, score]) => [idOf(token), score]));
  const decoder = new ScriptedDecoder(vocabularySize, (all) =>
    all.length === rules.prompt.length ? first : { [rules.endId]: 20 },
  );
  const judge = new WhisperJudge(decoder, { ...vocabulary, simplify }, new AbortController().signal);
  return { decoder, judge };
}

describe('what else may be said in the place of a character', () => {
  test('are Chinese characters within three nats, the likeliest first, simplified', async () => {
    const { judge } = judgeOf({ 天: 20, 田: 19.5, 東: 18, 人: 17.1, 大: 16.9, A: 20.5, '，': 20.5 });
    const [judgement] = await judge.judge(['天']);
    expect(judgement?.alternatives).toEqual([
      [
        { character: '田', nats: expect.closeTo(0.5, 3) },
        { character: '东', nats: expect.closeTo(2, 3) },
        { character: '人', nats: expect.closeTo(2.9, 3) },
      ],
    ]);
  });

  test('are among the ten likeliest', async () => {
    const others = Array.from('的是在和个人有一中大上来', (character, i) => [character, 20 - 0.1 * i]);
    const { judge } = judgeOf({ 天: 20.5, ...Object.fromEntries(others) });
    const [judgement] = await judge.judge(['天']);
    expect(judgement?.alternatives[0]).toHaveLength(10);
  });

  test('are also likelier ones', async () => {
    const { judge } = judgeOf({ 天: 15, 田: 20 });
    const [judgement] = await judge.judge(['天']);
    expect(judgement?.alternatives).toEqual([[{ character: '田', nats: expect.closeTo(-5, 3) }]]);
  });

  test('are none for what is not Chinese', async () => {
    const { judge } = judgeOf({ O: 20, 田: 20 });
    const [judgement] = await judge.judge(['OK.']);
    expect(judgement?.alternatives).toEqual([[], [], []]);
  });
});

test('a text is asked of the model once', async () => {
  const { decoder, judge } = judgeOf({ 天: 20 });
  const [first] = await judge.judge(['天', '田']);
  expect(await judge.judge(['天'])).toEqual([first]);
  expect(decoder.runs).toHaveLength(2);
});
