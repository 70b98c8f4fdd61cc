import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  PROMPT_TEXT,
  whisperLayout,
  whisperVocabulary,
} from '../../../../../../inference/engine/families/whisper/layout.ts';
import { WhisperRecording } from '../../../../../../inference/engine/families/whisper/recording.ts';
import { GrowingFrames } from '../../../../../../inference/engine/features/growing-frames.ts';
import { WHISPER_FRAMING, WhisperFbank } from '../../../../../../inference/engine/features/whisper-fbank.ts';
import { readOnnxOutline } from '../../../../../../inference/engine/onnx/onnx-reader.ts';
import { readSimplify, type Simplify } from '../../../../../../inference/engine/text/chinese-text.ts';
import { readTokenTable } from '../../../../../../inference/engine/text/tokens.ts';
import { modelFolders } from '../../../../../../models/store/store.ts';
import { ScriptedDecoder } from '../../search/scripted-decoder.ts';

/**
 * What users of other Whisper servers report, with scripted scores for what the bundled model does not do by itself; what it
 * does on silence and noise is in `whisper-bundled.test.ts`.
 */
const { bundled } = modelFolders();
const SAMPLES_PER_SECOND = 16_000;
let vocabulary: ReturnType<typeof whisperVocabulary>;
let vocabularySize: number;
let simplify: Simplify;

beforeAll(async () => {
  const encoder = await readOnnxOutline(join(bundled, 'encoder.int8.onnx'));
  const layout = whisperLayout(encoder, await readOnnxOutline(join(bundled, 'decoder.int8.onnx')));
  vocabulary = whisperVocabulary(encoder, layout, await readTokenTable(join(bundled, 'tokens.txt')));
  vocabularySize = layout.vocabularySize;
  simplify = await readSimplify();
});

type Scores = Readonly<Record<number, number>>;

/** A model that says this text, then the end; `otherwise` where its next token is one that is never said. */
function saying(text: string, otherwise: Scores = {}, score = 20): ScriptedDecoder {
  const { rules, tokens } = vocabulary;
  const script = [...tokens.encode(text), rules.endId];
  return new ScriptedDecoder(vocabularySize, (all) => {
    const next = script[all.length - rules.prompt.length] ?? rules.endId;
    return { ...otherwise, [next]: score };
  });
}

function recording(
  decoder: ScriptedDecoder,
  seconds: number,
): { recording: WhisperRecording<readonly (readonly number[])[]>; hear(more: number): void } {
  const frames = new GrowingFrames(new WhisperFbank(), WHISPER_FRAMING);
  const made = new WhisperRecording(
    { ...vocabulary, simplify, encode: async () => decoder },
    frames,
    new AbortController().signal,
  );
  const hear = (more: number): void => made.accept(new Float32Array(more * SAMPLES_PER_SECOND));
  hear(seconds);
  return { recording: made, hear };
}

async function finalOf(decoder: ScriptedDecoder, seconds = 3): Promise<string> {
  return recording(decoder, seconds).recording.finish();
}

/** Of a stream of these seconds, an update each half second. */
async function partialsOf(decoder: ScriptedDecoder, seconds = 3): Promise<string[]> {
  const stream = recording(decoder, 0);
  const partials: string[] = [];
  for (let heard = 0; heard < seconds; heard += 0.5) {
    stream.hear(0.5);
    partials.push(await stream.recording.update());
  }
  return partials;
}

describe('no text is', () => {
  test.each([
    ['a subtitle credit', '字幕由 Amara.org 社群提供'],
    ['the end of a video in traditional characters', '請不吝點贊 訂閱 轉發'],
    ['the end of a video', '请不吝点赞订阅转发'],
    ['the end of a video, with its channel', '请不吝点赞 订阅 转发 打赏支持明镜与点点栏目'],
  ])('%s, also where the model is sure of it, and nothing of it is shown: %s', async (_what, text) => {
    expect(await finalOf(saying(text))).toBe('');
    expect(await partialsOf(saying(text))).toEqual(['', '', '', '', '', '']);
  });

  test.each(['[SPEAKING CHINESE]', '(音乐)', '♪', '*掌声*'])('a placeholder: %s', async (text) => {
    expect(await finalOf(saying(text))).toBe('');
    expect(new Set(await partialsOf(saying(text)))).toEqual(new Set(['']));
  });

  test('the prompt, where the model is not sure of it', async () => {
    const { rules } = vocabulary;
    const unsure = saying(PROMPT_TEXT, {}, 6);
    expect(await finalOf(unsure, 5)).toBe('');
    expect(rules.prompt).not.toContain(rules.endId);
  });
});

describe('where the model says its prompt, which nobody said,', () => {
  /** A model that says the prompt where it has been given one. */
  function echoing(text: string, score = 20): ScriptedDecoder {
    const { rules, rulesWithoutPrompt, tokens } = vocabulary;
    return new ScriptedDecoder(vocabularySize, (all) => {
      const isPrompted = all[0] === rules.prompt[0];
      const { length } = isPrompted ? rules.prompt : rulesWithoutPrompt.prompt;
      const script = tokens.encode(isPrompted ? PROMPT_TEXT.trim() : text);
      return { [script[all.length - length] ?? rules.endId]: isPrompted ? 20 : score };
    });
  }

  test('the text is what it says without one', async () => {
    expect(await finalOf(echoing('二三五六六六六六六'))).toBe('二三五六六六六六六');
  });

  test.each([
    ['a text that it is not sure of', '伊森巴尼', 8.5],
    ['a subtitle credit', '请不吝点赞订阅转发', 20],
  ])('there is no text if that is %s', async (_what, text, score) => {
    expect(await finalOf(echoing(text, score))).toBe('');
  });

  test('nothing of it is shown on the way', async () => {
    expect(new Set(await partialsOf(echoing('二三五六')))).toEqual(new Set(['']));
  });
});

test('a sentence that only contains such words is text', async () => {
  const text = '这个视频的字幕由Amara.org社群提供吗';
  expect(await finalOf(saying(text), 8)).toBe(text);
  expect((await partialsOf(saying(text), 8)).at(-1)).toBe(text.slice(0, -1));
});

test('a placeholder behind speech is not said', async () => {
  const { endId } = vocabulary.rules;
  expect(await finalOf(saying('你好(音乐)', { [endId]: 15 }))).toBe('你好');
});

test.each([
  ['臺灣的學習', '台湾的学习'],
  ['台湾的學习', '台湾的学习'],
  ['乾隆扭轉乾坤', '乾隆扭转乾坤'],
  ['晾乾衣服', '晾干衣服'],
  ['妳好嗎', '你好吗'],
])('traditional characters, also mixed with others, are simplified: %s', async (said, text) => {
  expect(await finalOf(saying(said))).toBe(text);
  expect((await partialsOf(saying(said))).at(-1)).toBe(text.slice(0, -1));
});

test('the language is Chinese and the task is transcription, in partials and in the final, whatever the model would guess', async () => {
  const { rules } = vocabulary;
  const outline = await readOnnxOutline(join(bundled, 'encoder.int8.onnx'));
  const id = (key: string): number => outline.metadata.integer(key, 0, vocabularySize);
  const zh = outline.metadata.integers('all_language_tokens', 0, vocabularySize)[
    outline.metadata.text('all_language_codes')?.split(',').indexOf('zh') ?? -1
  ];
  const commands = [id('sot'), zh, id('transcribe'), id('no_timestamps')];
  expect(rules.prompt.slice(-4)).toEqual(commands);
  expect(rules.prompt[0]).toBe(id('sot_prev'));
  const decoder = saying('你好');
  const { recording: made } = recording(decoder, 2);
  await made.update();
  await made.finish();
  const beginnings = decoder.runs.filter(([row]) => row !== undefined && row.length > 1);
  expect(beginnings).toEqual([[rules.prompt], [rules.prompt]]);
  // And nothing of that kind is said in the text.
  expect(await finalOf(saying('你好', { [id('sot')]: 30 }))).toBe('你好');
});

describe('a model that finds no end', () => {
  test('repeats itself: one copy is left', async () => {
    const { tokens, rules } = vocabulary;
    const loop = tokens.encode('谢谢大家');
    const endless = new ScriptedDecoder(vocabularySize, (all) => ({
      [loop[(all.length - rules.prompt.length) % loop.length] ?? 0]: 20,
    }));
    expect(await finalOf(endless, 15)).toBe('谢谢大家');
    expect((await partialsOf(endless, 8)).at(-1)).toBe('谢谢大');
    // Three copies, and the look behind them.
    expect(Math.max(...endless.runs.map((rows) => rows.length))).toBeLessThanOrEqual(5);
  });

  test('talks on: the text is cut by the length of the recording', async () => {
    const { tokens, rules } = vocabulary;
    const words = tokens.encode(
      '天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜'.repeat(3),
    );
    const talking = new ScriptedDecoder(vocabularySize, (all) => ({
      [words[all.length - rules.prompt.length] ?? 0]: 20,
    }));
    const text = await finalOf(talking, 1);
    expect(text).toMatch(/^天地/);
    expect(tokens.encode(text).length).toBeLessThanOrEqual(14);
  });

  test('nor one with few places left', async () => {
    const { tokens, rules } = vocabulary;
    const words = tokens.encode('天地玄黄宇宙洪荒日月盈昃'.repeat(9));
    const short = new ScriptedDecoder(
      vocabularySize,
      (all) => ({ [words[all.length - rules.prompt.length] ?? 0]: 20 }),
      rules.prompt.length + 5,
    );
    expect(await finalOf(short, 15)).toMatch(/^天地/);
    expect((await partialsOf(short, 3)).at(-1)).toMatch(/^天/);
  });
});

describe('a partial', () => {
  test('has no half character, no punctuation at its end, and not the newest character', async () => {
    const { tokens, rules } = vocabulary;
    const script = tokens.encode('你好，龘');
    for (let count = 1; count <= script.length; count++) {
      const part = new ScriptedDecoder(vocabularySize, (all) => ({
        [all.length - rules.prompt.length < count
          ? (script[all.length - rules.prompt.length] ?? 0)
          : rules.endId]: 20,
      }));
      const [shown] = await partialsOf(part, 0.5);
      expect(['', '你', '你好'], `${count} tokens`).toContain(shown);
    }
  });

  test('gives the next update what two have agreed on, and the final none of it', async () => {
    const { tokens, rules } = vocabulary;
    const decoder = saying('你好世界');
    const stream = recording(decoder, 0);
    for (let update = 0; update < 3; update++) {
      stream.hear(0.5);
      await stream.recording.update();
    }
    const [first, second, third] = decoder.runs.filter(([row]) => row !== undefined && row.length > 1);
    expect(first).toEqual([rules.prompt]);
    expect(second).toEqual([rules.prompt]);
    expect(third).toEqual([[...rules.prompt, ...tokens.encode('你好世界')]]);
    expect(await stream.recording.finish()).toBe('你好世界');
    expect(decoder.runs.filter(([row]) => row !== undefined && row.length > 1).at(-1)).toEqual([
      rules.prompt,
    ]);
  });
});

test.each([1, 400, 1600])('a recording of %i samples is no exception', async (samples) => {
  const decoder = saying('你');
  const { recording: made } = recording(decoder, samples / SAMPLES_PER_SECOND);
  expect(await made.update()).toBe('');
  expect(await made.finish()).toBe('你');
});
