import { afterEach, beforeEach, expect, test } from 'vitest';
import { joined } from '../../../../client/audio/frames.ts';
import { AsrClient } from '../../../../client/node.ts';
import { Deferred } from '../../../../common/time/deferred.ts';
import { isSame, noise, spoken } from '../../../support/audio/spoken.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { type HttpScript, json, ScriptedService } from '../scripted-service.ts';
import { failure, hurried, TOKEN } from '../sessions.ts';

/** 32 s; its pauses are the cuts: at 9.5 and 19.5 s. */
const AUDIO = joined([spoken(9), noise(1), spoken(9), noise(1), spoken(12)]);
const WAV = wavFile(Buffer.from(AUDIO.buffer));

let service: ScriptedService;
let client: AsrClient;
beforeEach(async () => {
  service = await ScriptedService.start();
  client = new AsrClient({ url: service.url, apiToken: TOKEN, gapMs: 0 });
});
afterEach(() => service.stop());

const says = (text: string): HttpScript => json(200, { text, audio_ms: 1, inference_ms: 1.5 });
/** What was sent, without the forms and the WAV headers around it. */
const sent = (): Int16Array =>
  joined(
    service.requests.map(({ body }) => {
      const start = body.indexOf('data', body.indexOf('WAVEfmt ')) + 8;
      const pcm = body.subarray(start, start + body.readUInt32LE(start - 4));
      return Int16Array.from({ length: pcm.length / 2 }, (_, n) => pcm.readInt16LE(2 * n));
    }),
  );

test.for<[string, () => Parameters<AsrClient['transcribeLong']>[0]]>([
  ['samples', () => AUDIO],
  ['a WAV', () => WAV],
  ['a WAV in a Blob', () => new Blob([new Uint8Array(WAV)])],
  [
    'samples as they come',
    async function* () {
      for (let at = 0; at < AUDIO.length; at += 100_000) yield AUDIO.subarray(at, at + 100_000);
    },
  ],
])('%s of 32 s: three pieces, and every sample once', async ([, audio]) => {
  service.http = [says('今天'), says('is OK'), says('OK 了。')];
  const long = client.transcribeLong(audio());
  const pieces = [];
  for await (const piece of long) pieces.push(piece);
  expect(pieces).toEqual([
    { text: '今天', start_ms: 0, end_ms: 9_100 },
    { text: 'is OK', start_ms: 9_900, end_ms: 19_100 },
    { text: 'OK 了。', start_ms: 19_920, end_ms: 32_000 },
  ]);
  expect(await long.result).toEqual({
    text: '今天is OK OK 了。',
    audio_ms: 32_000,
    inference_ms: 4.5,
    pieces,
  });
  expect(isSame(sent(), AUDIO)).toBe(true);
});

test('a recording of 15 s is one upload; none has no audio', async () => {
  service.http = [says('今天')];
  expect((await client.transcribeLong(spoken(15)).result).text).toBe('今天');
  expect(service.requests).toHaveLength(1);
  expect(await failure(client.transcribeLong(new Int16Array(0)).result)).toMatchObject({
    code: 'empty_audio',
  });
});

test('each piece is tried again; a failure that lasts carries what was recognized before it', async () => {
  const retries: string[] = [];
  const retry = { onRetry: hurried(({ error }) => void retries.push(error.code)) };
  const fails = json(500, { error: 'inference_failed', message: 'told' });
  service.http = [says('一'), json(409, { error: 'busy' }), says('二'), fails];
  const long = client.transcribeLong(AUDIO, { retry });
  const error = await failure(long.result);
  expect(retries).toEqual(['busy']);
  expect(error).toMatchObject({ code: 'inference_failed', status: 500, message: 'told' });
  expect(error.recognized).toEqual({
    ...{ text: '一二', audio_ms: 19_500, inference_ms: 3 },
    pieces: [
      { text: '一', start_ms: 0, end_ms: 9_100 },
      { text: '二', start_ms: 9_900, end_ms: 19_100 },
    ],
  });
  const texts: string[] = [];
  const read = async () => {
    for await (const { text } of long) texts.push(text);
  };
  expect(await failure(read())).toBe(error);
  expect(texts).toEqual(['一', '二']);
});

test('a source that says nothing more does not hold up an abort, and what there is can be had', async () => {
  service.http = [says('一')];
  const asked = new Deferred<void>();
  async function* silent(): AsyncGenerator<Int16Array> {
    yield AUDIO.subarray(0, 300_000);
    asked.resolve();
    await new Promise(() => {});
  }
  const stop = new AbortController();
  const long = client.transcribeLong(silent(), { signal: stop.signal });
  await asked.promise;
  stop.abort();
  await expect(long.result).rejects.toBe(stop.signal.reason);
  expect(long.soFar).toMatchObject({ text: '一', audio_ms: 9_500 });
});

test('a long WAV is read in slices when they are needed; one that is cut off, or two, are refused before anything is sent', async () => {
  const long = Buffer.concat(Array.from({ length: 4 }, () => Buffer.from(AUDIO.buffer)));
  const file = new Blob([new Uint8Array(wavFile(long))]);
  service.http = [says('一'), json(403, { error: 'forbidden' })];
  let readBytes = 0;
  const counted = Object.assign(file, {
    slice(from: number, to: number) {
      readBytes = to;
      return Blob.prototype.slice.call(file, from, to);
    },
  });
  expect(await failure(client.transcribeLong(counted).result)).toMatchObject({ code: 'forbidden' });
  expect(readBytes).toBeLessThan(long.length / 2);

  service.requests.length = 0;
  const cutOff = new Blob([new Uint8Array(wavFile(long).subarray(0, -100_000))]);
  const twice = new Blob([new Uint8Array(wavFile(long)), new Uint8Array(WAV)]);
  for (const broken of [cutOff, twice])
    expect(await failure(client.transcribeLong(broken).result)).toMatchObject({ code: 'invalid_format' });
  expect(service.requests).toEqual([]);
});
