import { convert } from '../../../client/audio/converter.ts';
import { chunk, riff, type WavOptions, wavFile } from './wav.ts';

/** What a reader gives: 16 kHz mono samples of 16 bits, or an error with words of its message. */
export type Reading =
  | { readonly samples: ArrayLike<number> }
  | { readonly code: 'invalid_format' | 'empty_audio' | 'audio_too_long'; readonly says: string };

/** A file and how it must be read: by all, or by the client and the page, which convert, and otherwise by the service. */
interface WavCase {
  readonly name: string;
  readonly file: Buffer;
  readonly read: Reading;
  readonly byService: Reading;
}

const CONVERT = 'Convert it: ffmpeg -i IN -ar 16000 -ac 1 -c:a pcm_s16le OUT.wav';
const PCM_SUBFORMAT = '0100000000001000800000aa00389b71';
const FLOAT_SUBFORMAT = '0300000000001000800000aa00389b71';
const SAMPLES = Array.from({ length: 30 }, (_, n) => ((n * 7_919) % 65_536) - 32_768);

const int16 = (samples: readonly number[]): Buffer => Buffer.from(Int16Array.from(samples).buffer);
const PCM = int16(SAMPLES);
const ODD = Buffer.concat([PCM, Buffer.of(9)]);
const invalid = (says: string): Reading => ({ code: 'invalid_format', says });
const empty: Reading = { code: 'empty_audio', says: 'no audio sample' };
const cutOff = (announced: number, there: number): Reading =>
  invalid(`is cut off: it announces ${announced} bytes of audio and has ${there}. Copy or download it again`);

/** The same for all. */
const all = (name: string, file: Buffer, read: Reading): WavCase => ({ name, file, read, byService: read });
const right = (name: string, options: WavOptions, pcm = PCM, samples = SAMPLES): WavCase =>
  all(name, wavFile(pcm, options), { samples });
/** What the service refuses, and the others convert. */
const converted = (says: string, options: WavOptions, data: Buffer, samples: ArrayLike<number>): WavCase => ({
  name: `${says}, ${JSON.stringify({ ...options, extension: undefined })}`,
  file: wavFile(data, options),
  read: { samples },
  byService: invalid(`The WAV file has ${says}. ${CONVERT}`),
});
const inForm = (form: string, options: WavOptions, data: Buffer, samples: readonly number[]): WavCase =>
  converted(`${form} samples, not 16-bit PCM`, options, data, samples);
const refused = (name: string, options: WavOptions, says: string): WavCase =>
  all(name, wavFile(PCM, options), invalid(says));
/** A file of which nothing but its first bytes is what it says. */
const foreign = (name: string, start: string, says = `The file is ${name}, not WAV. ${CONVERT}`): WavCase =>
  all(
    JSON.stringify(start),
    Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(100, 0xa7)]),
    invalid(says),
  );

const resampled = (rateHz: number): ArrayLike<number> =>
  convert(
    Float32Array.from(SAMPLES, (sample) => sample / 32_768),
    rateHz,
  );
/** Each value of `SAMPLES` in both channels. */
const STEREO = int16(SAMPLES.flatMap((sample) => [sample, sample]));
const packed = (bytes: number, values: readonly number[]): Buffer =>
  Buffer.concat(
    values.map((value) => {
      const sample = Buffer.alloc(bytes);
      sample.writeIntLE(value, 0, bytes);
      return sample;
    }),
  );
const FLOATS = [0.5, -0.25, 3, -3, Number.NaN, Infinity];
const FLOATS_32 = Buffer.from(Float32Array.from(FLOATS).buffer);
const FLOATS_64 = Buffer.from(Float64Array.from(FLOATS).buffer);
const FROM_FLOATS = [16_384, -8_192, 32_767, -32_768, 0, 0];

/** WAVE_FORMAT_EXTENSIBLE. @param subFormat 16 bytes in hexadecimal */
function extensible(validBits: number, subFormat = PCM_SUBFORMAT): WavOptions {
  const extension = Buffer.alloc(24);
  extension.writeUInt16LE(22, 0);
  extension.writeUInt16LE(validBits, 2);
  extension.write(subFormat, 8, 'hex');
  return { formatCode: 0xfffe, extension };
}

export const WAV_CASES: readonly WavCase[] = [
  right('plain', {}),
  right('with chunks before and behind, odd ones padded', {
    before: [chunk('LIST', Buffer.from('odd'))],
    after: [chunk('id3 ', Buffer.from('x'))],
  }),
  right('with a chunk behind that is longer than the audio', { after: [chunk('bext', Buffer.alloc(602))] }),
  right('with one of an unknown name', { after: [chunk('\0\x01\xffz', Buffer.alloc(601)).subarray(0, -1)] }),
  all(
    'with a chunk behind, and bytes that begin none',
    Buffer.concat([wavFile(PCM, { after: [chunk('bext', Buffer.alloc(602))] }), Buffer.alloc(7, 1)]),
    { samples: SAMPLES },
  ),
  all('with a little behind that is no chunk', Buffer.concat([wavFile(PCM), Buffer.alloc(60, 0xa7)]), {
    samples: SAMPLES,
  }),
  all(
    'another WAV behind it',
    Buffer.concat([wavFile(PCM), wavFile(PCM)]),
    invalid(
      'The file is more than one WAV: behind the audio another begins at byte 104. Send them one by one',
    ),
  ),
  all(
    'another WAV behind a chunk',
    Buffer.concat([wavFile(PCM, { after: [chunk('LIST', Buffer.alloc(4))] }), wavFile(PCM)]),
    invalid('behind the audio another begins at byte 116'),
  ),
  all(
    'a size of its first part alone',
    wavFile(PCM, { dataBytes: 20 }),
    invalid(
      'counts 20 bytes of audio, and 40 more follow that are no chunk. If they are audio: ffmpeg -ignore_length 1',
    ),
  ),
  right('with a second data chunk', { after: [chunk('data', Buffer.alloc(4))] }),
  all('with its format behind the data', riff([chunk('data', PCM), wavFile(PCM).subarray(12, 36)]), {
    samples: SAMPLES,
  }),
  right('with a longer fmt chunk', { extension: Buffer.alloc(2) }),
  right('WAVE_FORMAT_EXTENSIBLE', extensible(16)),
  right('WAVE_FORMAT_EXTENSIBLE, valid bits left at 0', extensible(0)),
  right('WAVE_FORMAT_EXTENSIBLE, 12 valid bits of 16', extensible(12)),
  right('block align 0', { blockBytes: 0 }),
  right('block align 1', { blockBytes: 1 }),
  right('block align 4', { blockBytes: 4 }),
  right('byte rate 0', { byteRate: 0 }),
  right('byte rate of another file', { byteRate: 176_400 }),
  right('RIFF size 0', { riffBytes: 0 }),
  right('RIFF size too large', { riffBytes: 1_000_000 }),
  right('open size of ffmpeg', { dataBytes: 0xffff_ffff, riffBytes: 0xffff_ffff }),
  right('open size of SoX', { dataBytes: 0x7fff_f000, riffBytes: 0x7fff_f024 }),
  right('open size of arecord', { dataBytes: 0x7fff_ffff }),
  right('open size of 2 GiB', { dataBytes: 0x8000_0000 }),
  right('size left at 0', { dataBytes: 0 }),
  all('size 0 in front of a chunk', wavFile(Buffer.alloc(0), { after: [chunk('LIST', PCM)] }), empty),
  all('size 0 and nothing behind', wavFile(Buffer.alloc(0)), empty),
  all('open size and nothing behind', wavFile(Buffer.alloc(0), { dataBytes: 0xffff_ffff }), empty),
  right('size too large by one', { dataBytes: 61 }),
  right('size with the headers in it', { dataBytes: 104 }),
  all('size too large by 45', wavFile(PCM, { dataBytes: 105 }), cutOff(105, 60)),
  all('half of it', wavFile(PCM, { dataBytes: 120 }), cutOff(120, 60)),
  all('nothing but the header', wavFile(PCM).subarray(0, 44), cutOff(60, 0)),
  all('a size just below the open ones', wavFile(PCM, { dataBytes: 0x7fff_efff }), cutOff(0x7fff_efff, 60)),
  right('an odd byte at the end, padded', {}, ODD),
  all('an odd byte at the end, not padded', wavFile(ODD).subarray(0, -1), { samples: SAMPLES }),
  all('an odd byte at the end, open size', wavFile(ODD, { dataBytes: 0xffff_ffff }).subarray(0, -1), {
    samples: SAMPLES,
  }),
  all('half of the last sample missing', wavFile(PCM).subarray(0, -1), { samples: SAMPLES.slice(0, -1) }),
  all('half a sample', wavFile(Buffer.of(9)), empty),
  right('one sample', {}, PCM.subarray(0, 2), SAMPLES.slice(0, 1)),
  all('240,000 samples', wavFile(Buffer.alloc(480_000)), { samples: new Int16Array(240_000) }),
  {
    name: '240,001 samples',
    file: wavFile(Buffer.alloc(480_002)),
    read: { code: 'audio_too_long', says: 'is 15.001 s long' },
    byService: { code: 'audio_too_long', says: 'has 240001 samples' },
  },
  all('no byte', Buffer.alloc(0), { code: 'empty_audio', says: '' }),
  all('no data chunk', riff([wavFile(PCM).subarray(12, 36)]), invalid('has no data chunk')),
  all('no fmt chunk', riff([chunk('data', PCM)]), invalid('has no fmt chunk')),
  all(
    'a fmt chunk of 14 bytes',
    riff([chunk('fmt ', Buffer.alloc(14, 1)), chunk('data', PCM)]),
    invalid('has 14 bytes'),
  ),
  refused('WAVE_FORMAT_EXTENSIBLE without its extension', { formatCode: 0xfffe }, 'has 16 bytes, not 40'),
  refused(
    'WAVE_FORMAT_EXTENSIBLE, unknown sub-format',
    extensible(16, '01000000000010008000ffffffffffff'),
    `the format code 65534 with 16 bits, which is not PCM, float, A-law or mu-law. ${CONVERT}`,
  ),
  refused('ADPCM', { formatCode: 2, bits: 4 }, 'the format code 2 with 4 bits'),
  refused('no channel', { channels: 0 }, 'says that it has 0 channels'),
  refused('65 channels', { channels: 65 }, 'says that it has 65 channels'),
  // Cool Edit's floats, or three bytes and a wrong block align?
  refused('24 bits in 4 bytes', { bits: 24, blockBytes: 4 }, 'says 24 bits and 4 bytes a sample'),

  converted('2 channels, not 1', { channels: 2 }, STEREO, SAMPLES),
  converted('2 channels, not 1', { channels: 2, blockBytes: 2 }, STEREO, SAMPLES),
  converted('2 channels, not 1', { channels: 2, bits: 16 }, int16([100, 200, -400, 0]), [150, -200]),
  inForm('uint8', { bits: 8 }, Buffer.of(0, 128, 192), [-32_768, 0, 16_384]),
  inForm('uint8', { bits: 8, blockBytes: 2 }, Buffer.of(128, 192), [0, 16_384]),
  inForm('int24', { bits: 24 }, packed(3, [0x400000, -0x200000]), [16_384, -8_192]),
  inForm('int24', { bits: 24, blockBytes: 0 }, packed(3, [0x400000]), [16_384]),
  inForm('int24', { bits: 20 }, packed(3, [0x400000]), [16_384]),
  inForm('int32', { bits: 32 }, packed(4, [0x40000000, -1]), [16_384, 0]),
  inForm('int32', { bits: 32, ...extensible(24) }, packed(4, [0x40000000]), [16_384]),
  inForm('float32', { formatCode: 3, bits: 32 }, FLOATS_32, FROM_FLOATS),
  inForm('float32', { bits: 32, ...extensible(32, FLOAT_SUBFORMAT) }, FLOATS_32, FROM_FLOATS),
  inForm('float64', { formatCode: 3, bits: 64 }, FLOATS_64, FROM_FLOATS),
  // Values of ITU-T G.711 in 16 bits.
  inForm(
    'a-law',
    { formatCode: 6, bits: 8 },
    Buffer.of(0xd5, 0x55, 0xaa, 0x2a, 0x80),
    [8, -8, 32_256, -32_256, 5_504],
  ),
  inForm(
    'mu-law',
    { formatCode: 7, bits: 8 },
    Buffer.of(0xff, 0x80, 0, 0xfe, 0x7e),
    [0, 32_124, -32_124, 8, -8],
  ),
  converted('a sample rate of 8000 Hz, not 16000 Hz', { sampleRateHz: 8_000 }, PCM, resampled(8_000)),
  converted('a sample rate of 44100 Hz, not 16000 Hz', { sampleRateHz: 44_100 }, PCM, resampled(44_100)),
  converted(
    'a sample rate of 44100 Hz, not 16000 Hz',
    { sampleRateHz: 44_100, blockBytes: 4 },
    PCM,
    resampled(44_100),
  ),
  refused('4 kHz', { sampleRateHz: 4_000 }, 'a sample rate of 4000 Hz'),

  foreign('AMR', '#!AMR\n'),
  foreign('AMR', '#!AMR-WB\n'),
  foreign('SILK', '#!SILK_V3', 'ffmpeg cannot read it: decode it with silk-v3-decoder first'),
  foreign('SILK', '\x02#!SILK_V3', "The file is SILK, a messenger's voice message, not WAV."),
  foreign('CAF', 'caff\0\x01\0\0desc'),
  foreign('AIFF', 'FORM\0\0\x01\0AIFFCOMM'),
  foreign('AIFF', 'FORM\0\0\x01\0AIFCFVER'),
  foreign('MP3', 'ID3\x04\0\0\0\0\0\x22TSSE'),
  foreign('MP3', '\xff\xfb\x90\x64'),
  foreign('MP3', '\xff\xf3\x18\xc4'),
  foreign('AAC', '\xff\xf1\x60\x40'),
  foreign('WebM or Matroska', '\x1aE\xdf\xa3\x9fB\x86\x81'),
  foreign('Ogg, with Opus or Vorbis', 'OggS\0\x02'),
  foreign('FLAC', 'fLaC\0\0\0\x22'),
  foreign('MP4 or M4A', '\0\0\0\x1cftypM4A '),
  // A video, with sound in it or without.
  foreign('MP4 or M4A', '\0\0\0 ftypisom'),
  foreign('AVI', 'RIFF\0\0\0\x01AVI LIST'),
  foreign('RF64', 'RF64\xff\xff\xff\xffWAVEds64'),
  foreign('RIFX', 'RIFX\0\0\0\x01WAVEfmt '),
  foreign(
    'Base64 text',
    wavFile(PCM).toString('base64'),
    'The file is Base64 text, not WAV. Decode it first',
  ),
  foreign(
    '',
    'no sound at all',
    `The file is not WAV: it begins with the bytes 6e 6f 20 73. ${CONVERT}. If it is bare samples without a header: ffmpeg -f s16le -ar 16000 -ac 1 -i IN OUT.wav`,
  ),
  // Bare samples, and not the MP3 that their first bits could begin.
  foreign('', '\xff\xff\xff\xff\0\0', 'it begins with the bytes ff ff ff ff'),
  all('RIFF alone', Buffer.from('RIFF\0'), invalid('it begins with the bytes 52 49 46 46')),
  all('read as UTF-8', Buffer.from(wavFile(PCM).toString('utf8')), invalid('turned into text')),
  all(
    'sent as a string of its bytes',
    Buffer.from(wavFile(PCM).toString('latin1')),
    invalid('turned into text'),
  ),
];
