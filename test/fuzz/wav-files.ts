import fc from 'fast-check';
import { chunk, riff } from '../support/audio/wav.ts';

/** WAV files, right ones by construction and broken ones by mutation. */
interface GeneratedWav {
  readonly file: Buffer;
  /** The samples that a reader must find. */
  readonly pcm: Buffer;
}

const uint32 = fc.oneof(
  fc.constantFrom(0, 1, 2, 15, 16, 18, 40, 0x7fff_efff, 0x7fff_f000, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff),
  fc.integer({ min: 0, max: 600 }),
  fc.integer({ min: 0, max: 0xffff_ffff }),
);
const junkBytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes));

/** Four bytes that name no chunk a reader looks for. */
const junkId = fc
  .oneof(
    fc.constantFrom('LIST', 'fact', 'bext', 'JUNK', 'PAD ', 'id3 ', 'cue ', 'FMT ', 'DATA', 'fmt\0', 'RIFF'),
    fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  )
  .filter((id) => id !== 'fmt ' && id !== 'data');
const junkChunk = fc.tuple(junkId, junkBytes(40)).map(([id, content]) => chunk(id, content));
const junkChunks = fc.array(junkChunk, { maxLength: 3 });

/** The content of a `fmt ` chunk for 16 kHz mono PCM16, in each of its forms. */
const rightFormat = fc
  .record({
    form: fc.constantFrom('plain', 'with its size field', 'extensible'),
    validBits: fc.constantFrom(0, 16),
    channelMask: uint32,
    extra: junkBytes(12),
  })
  .map(({ form, validBits, channelMask, extra }) => {
    const plain = formatContent(form === 'extensible' ? 0xfffe : 1);
    if (form === 'plain') return plain;
    if (form === 'with its size field') return Buffer.concat([plain, Buffer.alloc(2), extra]);
    const extension = Buffer.alloc(24);
    extension.writeUInt16LE(22, 0);
    extension.writeUInt16LE(validBits, 2);
    extension.writeUInt32LE(channelMask, 4);
    Buffer.from('0100000000001000800000aa00389b71', 'hex').copy(extension, 8);
    return Buffer.concat([plain, extension, extra]);
  });

function formatContent(code: number, channels = 1, rateHz = 16_000, bits = 16): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt16LE(code, 0);
  content.writeUInt16LE(channels, 2);
  content.writeUInt32LE(rateHz, 4);
  content.writeUInt32LE((rateHz * channels * bits) >>> 3, 8);
  content.writeUInt16LE((channels * bits) >>> 3, 12);
  content.writeUInt16LE(bits, 14);
  return content;
}

const pcmOf = (maxSamples: number) =>
  fc
    .uint8Array({ minLength: 1, maxLength: maxSamples })
    .map((bytes) => Buffer.concat([Buffer.from(bytes), Buffer.from(bytes).reverse()]));
const longPcm = fc.constantFrom(2, 239_999, 240_000).map((samples) => Buffer.alloc(samples * 2, 'noise'));

/** Files that must be read, and read exactly: chunks in any order, padded; every form of `fmt `; true and streaming sizes. */
export const validWav: fc.Arbitrary<GeneratedWav> = fc
  .record({
    pcm: fc.oneof({ weight: 60, arbitrary: pcmOf(60) }, { weight: 1, arbitrary: longPcm }),
    format: rightFormat,
    before: junkChunks,
    between: junkChunks,
    after: junkChunks,
    rest: junkBytes(7),
    order: fc.constantFrom('fmt first', 'data first', 'streaming', 'too large'),
    streamingSize: fc.integer({ min: 0x7fff_f000, max: 0xffff_ffff }),
    excessBytes: fc.integer({ min: 1, max: 44 }),
    riffBytes: fc.option(uint32, { nil: undefined }),
  })
  .map(({ pcm, format, before, between, after, rest, order, streamingSize, excessBytes, riffBytes }) => {
    const fmt = chunk('fmt ', format);
    const sizes = { streaming: streamingSize, 'too large': pcm.length + excessBytes };
    const data = chunk('data', pcm, { 'fmt first': pcm.length, 'data first': pcm.length, ...sizes }[order]);
    const inOrder = order === 'data first' ? [data, ...between, fmt] : [fmt, ...between, data];
    // Nothing can stand behind data that runs, or would run, to the end of the file.
    const tail = order in sizes ? [] : [...after, rest];
    return { file: riff([...before, ...inOrder, ...tail], riffBytes), pcm };
  });

const wrongFormat = fc
  .tuple(
    fc.constantFrom(0, 1, 2, 3, 6, 7, 0x55, 0xfffe, 0xffff),
    fc.constantFrom(0, 1, 2, 6),
    fc.constantFrom(0, 8_000, 15_999, 16_000, 44_100, 48_000, 0xffff_ffff),
    fc.constantFrom(0, 8, 16, 24, 32),
  )
  .map((fields) => formatContent(...fields));

/**
 * Chunks that contradict themselves and each other: sizes that lie, formats that are wrong, the same chunk
 * twice or not at all.
 */
const chunkSoup = fc
  .array(
    fc.record({
      part: fc.oneof(
        fc.tuple(fc.constant('fmt '), fc.oneof(rightFormat, rightFormat, wrongFormat, junkBytes(60))),
        fc.tuple(fc.constant('data'), fc.oneof(pcmOf(30), pcmOf(30), junkBytes(60))),
        fc.tuple(junkId, junkBytes(60)),
      ),
      lie: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: uint32 }),
    }),
    { maxLength: 5 },
  )
  .map((chunks) => riff(chunks.map(({ part: [id, content], lie }) => chunk(id, content, lie))));

type Mutation =
  | { how: 'byte'; at: number; value: number }
  | { how: 'size'; at: number; value: number }
  | { how: 'cut'; at: number }
  | { how: 'insert'; at: number; bytes: Buffer }
  | { how: 'remove'; at: number; count: number };

/** A place in a file, as a share of its length but nearly always in its header. */
const place = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 0, max: 120 }) },
  { weight: 1, arbitrary: fc.nat() },
);
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ how: fc.constant('byte' as const), at: place, value: fc.integer({ min: 0, max: 255 }) }),
  fc.record({ how: fc.constant('size' as const), at: place, value: uint32 }),
  fc.record({ how: fc.constant('cut' as const), at: place }),
  fc.record({ how: fc.constant('insert' as const), at: place, bytes: junkBytes(9) }),
  fc.record({ how: fc.constant('remove' as const), at: place, count: fc.integer({ min: 1, max: 9 }) }),
);

function mutated(file: Buffer, change: Mutation): Buffer {
  const at = change.at % (file.length + 1);
  const before = file.subarray(0, at);
  const after = file.subarray(at);
  switch (change.how) {
    case 'byte':
      return Buffer.concat([before, Buffer.from([change.value]), after.subarray(1)]);
    case 'size': {
      const size = Buffer.alloc(4);
      size.writeUInt32LE(change.value);
      return Buffer.concat([before, size, after.subarray(4)]);
    }
    case 'cut':
      return Buffer.from(before);
    case 'insert':
      return Buffer.concat([before, change.bytes, after]);
    case 'remove':
      return Buffer.concat([before, after.subarray(change.count)]);
  }
}

const tooLong = fc
  .constantFrom(480_002, 480_001, 484_052)
  .map((bytes) => riff([chunk('fmt ', formatContent(1)), chunk('data', Buffer.alloc(bytes))]));

/** Anything that somebody may send as a WAV file. */
export const anyFile: fc.Arbitrary<Buffer> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc
      .tuple(validWav, fc.array(mutation, { minLength: 1, maxLength: 3 }))
      .map(([{ file }, changes]) => changes.reduce(mutated, file)),
  },
  { weight: 20, arbitrary: chunkSoup },
  { weight: 5, arbitrary: junkBytes(80) },
  { weight: 5, arbitrary: junkBytes(80).map((bytes) => riff([bytes])) },
  { weight: 1, arbitrary: tooLong },
);
