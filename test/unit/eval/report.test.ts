import { describe, expect, it } from 'vitest';
import { parseHotwords } from '../../../inference/engine/postprocessing/hotword-list.ts';
import { countErrors } from '../../eval/error-rate.ts';
import { type Hearing, type Measurement, measure } from '../../eval/measure.ts';
import { hotwordLine, listLine, summarize, summaryLines, tableLines } from '../../eval/report.ts';
import { ScriptedRecognizer, scriptedPcm, scriptedText } from '../../support/scripted-recognizer.ts';

/** Measures `seconds` of audio with a recognizer whose call takes 100 ms and 1 ms for each 100 bytes. */
async function scripted(seconds: number) {
  const recognizer = new ScriptedRecognizer();
  let nowMs = 0;
  recognizer.onCall = ({ bytes }) => {
    nowMs += 100 + bytes / 100;
  };
  const pcm = scriptedPcm(seconds);
  const truth = scriptedText(pcm);
  const measurement = await measure(recognizer, { name: 'a.wav', truth, pcm }, () => nowMs);
  return { recognizer, truth, measurement };
}

describe('a recording', () => {
  it('is recognized whole, and in chunks of 500 ms with the rest at its end', async () => {
    const { recognizer, truth, measurement } = await scripted(1.2);
    expect(recognizer.calls).toEqual([
      { kind: 'finish', bytes: 38_400 },
      { kind: 'accept', bytes: 16_000 },
      { kind: 'accept', bytes: 16_000 },
      { kind: 'finish', bytes: 6400 },
    ]);
    const errors = { wrong: 0, total: 3 };
    expect(measurement).toEqual({
      name: 'a.wav',
      truth,
      audioMs: 1200,
      upload: { text: truth, errors, updatesMs: [], finishMs: 484 },
      stream: { text: truth, errors, updatesMs: [260, 260], finishMs: 164 },
    });
    expect(recognizer.openStreams).toBe(0);
  });

  it('of whole chunks ends with a call that takes no samples', async () => {
    const { recognizer } = await scripted(0.5);
    expect(recognizer.calls.slice(1)).toEqual([
      { kind: 'accept', bytes: 16_000 },
      { kind: 'finish', bytes: 0 },
    ]);
  });

  it('that fails is closed all the same', async () => {
    const recognizer = new ScriptedRecognizer();
    recognizer.failNextCall();
    const recording = { name: 'a.wav', truth: '', pcm: scriptedPcm(1) };
    await expect(measure(recognizer, recording)).rejects.toThrow('scripted failure');
    expect(recognizer.openStreams).toBe(0);
  });
});

function measured(name: string, truth: string, heard: string, streamed = heard): Measurement {
  const hearing = (text: string, updatesMs: readonly number[], finishMs: number): Hearing => ({
    text,
    errors: countErrors(truth, text),
    updatesMs,
    finishMs,
  });
  const upload = hearing(heard, [], 300);
  const stream = hearing(streamed, [10, 90], 400);
  return { name, truth, audioMs: 2000, upload, stream };
}

const MEASUREMENTS = [
  measured('right.wav', '今天天气很好', '今天天气很好。'),
  measured('half.wav', '你好', '您好'),
  measured('long-half.wav', '你好你好', '您好您好'),
  measured('nothing-said.wav', '', '字幕'),
  measured('stream-only.wav', '上海市第一', '上海市第一', '上海'),
  measured('punctuation.wav', '好', '好', '好。'),
];

describe('the figures of a set', () => {
  it('are sums over its characters, recordings and calls', () => {
    expect(summarize(MEASUREMENTS, 'upload')).toEqual({
      errors: { wrong: 5, total: 18 },
      recordings: 6,
      right: 3,
      realTimeFactor: 0.15,
      longestUpdateMs: 0,
    });
    expect(summarize(MEASUREMENTS, 'stream')).toEqual({
      errors: { wrong: 8, total: 18 },
      recordings: 6,
      right: 2,
      realTimeFactor: 0.25,
      longestUpdateMs: 90,
    });
  });

  it('are two lines', () => {
    expect(summaryLines(MEASUREMENTS)).toEqual([
      'uploads  27.8 % (5 of 18 characters wrong), 3 of 6 recordings right, 0.150 s for a second of audio',
      'streams  44.4 % (8 of 18 characters wrong), 2 of 6 recordings right, 0.250 s for a second of audio, longest update 90 ms, 2 with another text than the upload',
    ]);
  });
});

describe('a list of hot words', () => {
  it.each([
    ['天气\n你好', 'hot words: 2 phrases, 0 ignored'],
    ['天气', 'hot words: 1 phrase, 0 ignored'],
    ['天气\n好\n天气\n呀', 'hot words: 1 phrase, 3 ignored (2 × one character, 1 × repeated)'],
  ])('is one line', (text, line) => {
    expect(listLine(parseHotwords(text))).toBe(line);
  });

  it('is judged in one line by its uploads', () => {
    const before = ['今天天气很好', '你好', '您好你好', '', '上海市第一', '好'];
    const list = parseHotwords('天气\n你好\n您好');
    expect(hotwordLine(list, before, MEASUREMENTS)).toBe(
      'phrases 3 of 4 right without the list, 1 with it, 2 lost, 3 false',
    );
  });
});

describe('the table of sentences', () => {
  it('begins with the worst, of the upload or the stream, and leaves out what is right and the same both ways', () => {
    expect(tableLines(MEASUREMENTS, false)).toEqual([
      '    ∞ % (2 of 0)  nothing-said.wav',
      '  said    ',
      '  heard   字幕',
      ' 60.0 % (3 of 5)  stream-only.wav',
      '  said    上海市第一',
      '  heard   上海市第一',
      '  stream  上海',
      ' 50.0 % (2 of 4)  long-half.wav',
      '  said    你好你好',
      '  heard   您好您好',
      ' 50.0 % (1 of 2)  half.wav',
      '  said    你好',
      '  heard   您好',
      '  0.0 % (0 of 1)  punctuation.wav',
      '  said    好',
      '  heard   好',
      '  stream  好。',
    ]);
  });

  it('has the sentences that are right at its end where all are wanted', () => {
    const lines = tableLines(MEASUREMENTS, true);
    expect(lines.slice(0, -3)).toEqual(tableLines(MEASUREMENTS, false));
    expect(lines.slice(-3)).toEqual([
      '  0.0 % (0 of 6)  right.wav',
      '  said    今天天气很好',
      '  heard   今天天气很好。',
    ]);
  });
});
