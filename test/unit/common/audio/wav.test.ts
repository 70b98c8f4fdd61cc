import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { toPcm } from '../../../../client/audio/pcm.ts';
import { wavStreamToPcm } from '../../../../client/audio/wav-stream.ts';
import { readPcm16 } from '../../../../common/audio/pcm16.ts';
import { isWav } from '../../../../common/audio/wav.ts';
import { readAudioFile } from '../../../../page/recording/audio-file.ts';
import { asFailure } from '../../../../page/service/failures.ts';
import { type Reading, WAV_CASES } from '../../../support/audio/wav-cases.ts';

async function* inPieces(file: Buffer, pieceBytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < file.length; at += pieceBytes) yield file.subarray(at, at + pieceBytes);
}

async function readLive(file: Buffer, pieceBytes: number): Promise<number[]> {
  const samples: number[] = [];
  for await (const piece of wavStreamToPcm(inPieces(file, pieceBytes))) samples.push(...piece);
  return samples;
}

const READERS: Readonly<Record<string, (file: Buffer) => Promise<ArrayLike<number>> | ArrayLike<number>>> = {
  service: (file) => new Int16Array(Uint8Array.from(readPcm16(file)).buffer),
  client: toPcm,
  // What comes as it is spoken: the end of a recording that is too long is not there yet.
  'client, live in pieces of 7 bytes': (file) => readLive(file, file.length > 10_000 ? 5_000 : 7),
  page: async (file) => {
    const parts = await readAudioFile(new File([Uint8Array.from(file)], 'some.wav'));
    const { wav } = parts.sound('some.wav', new Date());
    return new Int16Array(await wav.slice(44).arrayBuffer());
  },
};

/** The page's words for the service's codes. */
const pageKind = ({ code, says }: Exclude<Reading, { samples: unknown }>, file: Buffer): string => {
  // Another program may read a WAV of another format code, or sample rate.
  const ofWav = /format code|sample rate/.test(says) ? 'file_unreadable' : 'file_damaged';
  const ofOther = isWav(file) ? ofWav : 'file_unreadable';
  const ofFormat = says.includes('is cut off') ? 'file_cut_off' : ofOther;
  return { invalid_format: ofFormat, empty_audio: 'file_empty', audio_too_long: 'file_too_long' }[code];
};

beforeAll(() => {
  // A browser that decodes nothing.
  vi.stubGlobal(
    'Audio',
    class {
      src = '';
      set onerror(listener: () => void) {
        queueMicrotask(listener);
      }
    },
  );
  vi.stubGlobal(
    'OfflineAudioContext',
    class {
      decodeAudioData = () => Promise.reject(new Error('EncodingError'));
    },
  );
});
afterAll(() => void vi.unstubAllGlobals());

describe.each(Object.entries(READERS))('%s', (reader, read) => {
  // Live, nothing behind the audio is waited for. And there as on the page no length is too much.
  const beyond = reader.includes('live') ? /240,001|another WAV|first part/ : /240,001/;
  const takesAnyLength = reader.includes('live') || reader === 'page';
  const cases = WAV_CASES.filter(({ name }) => !(takesAnyLength && beyond.test(name)));
  test.each(cases)('$name', async ({ file, ...expectations }) => {
    const expected = reader === 'service' ? expectations.byService : expectations.read;
    const reading = (async () => read(file))();
    if ('samples' in expected) {
      const samples = await reading;
      expect(samples).toHaveLength(expected.samples.length);
      // A comparison of 240,000 one by one takes seconds.
      const wrong = Array.from(samples).findIndex((sample, n) => sample !== expected.samples[n]);
      expect({ wrong, is: samples[wrong], right: expected.samples[wrong] }).toEqual({ wrong: -1 });
      return;
    }
    const error: unknown = await reading.then(
      () => 'it was read',
      (reason: unknown) => reason,
    );
    if (reader === 'page') {
      const { kind, detail } = asFailure(error);
      expect(kind).toBe(pageKind(expected, file));
      // The page asks for the size itself.
      if (file.length > 0) expect(detail).toContain(expected.says);
    } else {
      const message = expect.stringContaining(expected.says);
      expect(error).toMatchObject({ code: expected.code, message });
    }
  });
});
