import assert from 'node:assert/strict';
import { readPcm16 } from '../../common/audio/pcm16.ts';
import { WavError } from '../../common/audio/wav-error.ts';
import { pureFuzz } from './fuzz.ts';
import { anyFile, validWav } from './wav-files.ts';
import { type WavVerdict, wavVerdict } from './wav-oracle.ts';

/** What the reader says, in the oracle's terms. Anything but a WavError is a fault. */
function verdictOfReader(file: Buffer): WavVerdict {
  try {
    const pcm = readPcm16(file);
    assert.equal(pcm.buffer, file.buffer, 'the samples are a view of the file');
    assert.ok(pcm.byteOffset >= file.byteOffset, 'the view begins inside the file');
    assert.ok(pcm.byteOffset + pcm.length <= file.byteOffset + file.length, 'the view ends inside the file');
    return { pcm };
  } catch (error) {
    if (!(error instanceof WavError)) throw error;
    const { code } = error;
    assert.match(error.message, /^[\x20-\x7e]+$/, 'a message that can be read');
    return { code };
  }
}

function assertSame(reader: WavVerdict, expected: WavVerdict): void {
  if ('pcm' in expected && 'pcm' in reader) assert.ok(reader.pcm.equals(expected.pcm), 'other samples');
  else assert.deepEqual('pcm' in reader ? 'accepted' : reader, 'pcm' in expected ? 'accepted' : expected);
}

/** A generator that only makes right files must agree with the reader and with the oracle. */
export const validWavFiles = pureFuzz('WAV files that are right', 8_000, validWav, ({ file, pcm }) => {
  assertSame(verdictOfReader(file), { pcm });
  assertSame(wavVerdict(file), { pcm });
});

export const anyWavFiles = pureFuzz('WAV files of any kind', 20_000, anyFile, (file) => {
  assertSame(verdictOfReader(file), wavVerdict(file));
});
