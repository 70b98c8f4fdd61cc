import { describe, expect, test } from 'vitest';
import { readWav } from '../../../common/audio/wav.ts';
import { ApiFailure } from '../../../common/errors/errors.ts';
import { chunk, riff, wavFile } from '../../support/wav.ts';

const pcm = Buffer.from([1, 2, 3, 4]);

/** The error code of a refused file; fails when it is accepted. */
function refusal(file: Buffer): { code: string; message: string } {
  try {
    readWav(file);
  } catch (error) {
    if (error instanceof ApiFailure) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('the file was accepted');
}

function extensible(subformat: string, validBits = 16): Buffer {
  const format = Buffer.alloc(40);
  format.writeUInt16LE(0xfffe, 0);
  format.writeUInt16LE(1, 2);
  format.writeUInt32LE(16_000, 4);
  format.writeUInt32LE(32_000, 8);
  format.writeUInt16LE(2, 12);
  format.writeUInt16LE(16, 14);
  format.writeUInt16LE(22, 16);
  format.writeUInt16LE(validBits, 18);
  Buffer.from(subformat, 'hex').copy(format, 24);
  return riff([chunk('fmt ', format), chunk('data', pcm)]);
}

describe('valid WAV files', () => {
  test('the plain form gives exactly the data bytes, as a view', () => {
    const file = wavFile(pcm);
    const samples = readWav(file);
    expect(samples).toEqual(pcm);
    expect(samples.buffer).toBe(file.buffer);
  });
  test('chunks before and behind, odd ones padded', () => {
    const file = wavFile(pcm, {
      before: [chunk('LIST', Buffer.from('abc'))],
      after: [chunk('id3 ', Buffer.from('x'))],
    });
    expect(readWav(file)).toEqual(pcm);
  });
  test('data before fmt', () => {
    const plain = wavFile(pcm);
    const format = plain.subarray(12, 36);
    expect(readWav(riff([chunk('data', pcm), Buffer.from(format)]))).toEqual(pcm);
  });
  test('WAVE_FORMAT_EXTENSIBLE with PCM', () => {
    expect(readWav(extensible('0100000000001000800000aa00389b71'))).toEqual(pcm);
  });
  test.each([0xffff_ffff, 0x7fff_f000, 0x7fff_ffff])(
    'streaming header with data size %d: the data runs to the end',
    (dataBytes) => {
      expect(readWav(wavFile(pcm, { dataBytes, riffBytes: 0xffff_ffff }))).toEqual(pcm);
    },
  );
  test('a RIFF size that is wrong does not matter', () => {
    expect(readWav(wavFile(pcm, { riffBytes: 0 }))).toEqual(pcm);
  });
  test('240,000 samples are the most', () => {
    expect(readWav(wavFile(Buffer.alloc(480_000))).length).toBe(480_000);
  });
  test('one sample is enough', () => {
    expect(readWav(wavFile(Buffer.alloc(2))).length).toBe(2);
  });
});

describe('refused files', () => {
  test('one sample too many', () => {
    const { code, message } = refusal(wavFile(Buffer.alloc(480_002)));
    expect(code).toBe('audio_too_long');
    expect(message).toContain('240001');
  });
  test('no sample', () => {
    expect(refusal(wavFile(Buffer.alloc(0))).code).toBe('empty_audio');
    expect(refusal(Buffer.alloc(0)).code).toBe('empty_audio');
    expect(refusal(wavFile(Buffer.alloc(0), { dataBytes: 0xffff_ffff })).code).toBe('empty_audio');
  });
  test.each([
    ['stereo', { channels: 2 }, '2 channels'],
    ['44.1 kHz', { sampleRateHz: 44_100 }, '44100 Hz'],
    ['8 bits', { bits: 8 }, '8 bits'],
    ['24 bits', { bits: 24 }, '24 bits'],
    ['float', { formatCode: 3, bits: 32 }, 'floating point'],
    ['A-law', { formatCode: 6 }, 'format code is 6'],
  ])('%s', (_name, options, said) => {
    const { code, message } = refusal(wavFile(pcm, options));
    expect(code).toBe('invalid_format');
    expect(message).toContain(said);
  });
  test.each([
    ['a WebM file', Buffer.from('1a45dfa39f4286810142f7810142f2810442f381', 'hex'), 'WebM'],
    ['an Ogg file', Buffer.from('OggS\0\x02\0\0\0\0\0\0\0\0', 'latin1'), 'Ogg'],
    ['an MP3 file', Buffer.from('ID3\x04\0\0\0\0\0\0\0\0', 'latin1'), 'MP3'],
    ['a bare MP3 frame', Buffer.from('fffb90640000000000000000', 'hex'), 'MP3'],
    ['an M4A file', Buffer.from('\0\0\0\x20ftypM4A ', 'latin1'), 'MP4'],
    ['a FLAC file', Buffer.from('fLaC\0\0\0\x22\x10\0\x10\0', 'latin1'), 'FLAC'],
    ['an RF64 file', Buffer.from('RF64\xff\xff\xff\xffWAVE', 'latin1'), 'RF64, which is not supported'],
    ['five bytes', Buffer.from('RIFF\0'), 'not a WAV file'],
    ['a WAV file in Base64', Buffer.from(wavFile(pcm).toString('base64')), 'Base64 text'],
    ['a WAV file read as UTF-8', Buffer.from(wavFile(pcm).toString('utf8')), 'turned into text'],
    [
      'a WAV file sent as a string of its bytes',
      Buffer.from(wavFile(pcm).toString('latin1')),
      'turned into text',
    ],
  ])('%s is named', (_name, file, said) => {
    const { code, message } = refusal(file);
    expect(code).toBe('invalid_format');
    expect(message).toContain(said);
  });
  test('a data chunk longer than the file', () => {
    expect(refusal(wavFile(pcm, { dataBytes: 6 })).code).toBe('invalid_format');
    expect(refusal(wavFile(pcm, { dataBytes: 0x7fff_efff })).code).toBe('invalid_format');
  });
  test('a data chunk of odd length', () => {
    expect(refusal(wavFile(Buffer.alloc(5))).code).toBe('invalid_format');
  });
  test('no fmt chunk, no data chunk, a short fmt chunk', () => {
    expect(refusal(riff([chunk('data', pcm)])).message).toContain('no fmt chunk');
    expect(refusal(riff([chunk('fmt ', wavFile(pcm).subarray(20, 36))])).message).toContain('no data chunk');
    expect(refusal(riff([chunk('fmt ', Buffer.alloc(14)), chunk('data', pcm)])).code).toBe('invalid_format');
  });
  test('WAVE_FORMAT_EXTENSIBLE with float, an unknown sub-format, or fewer valid bits', () => {
    expect(refusal(extensible('0300000000001000800000aa00389b71')).message).toContain('floating point');
    expect(refusal(extensible('01000000000010008000ffffffffffff')).code).toBe('invalid_format');
    expect(refusal(extensible('0100000000001000800000aa00389b71', 12)).message).toContain('12 valid bits');
  });
});
