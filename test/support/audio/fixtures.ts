import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPcm16 } from '../../../common/audio/pcm16.ts';
import { packageRoot } from '../../../common/process/package-root.ts';

const FOLDER = join(packageRoot(), 'test', 'fixtures');

/** The small CTC model: fast, deterministic, and for tests alone. */
export const SMALL_CTC = join(FOLDER, 'small-ctc');

/** A recording and the exact text that the small CTC model hears in it. */
export interface Fixture {
  readonly name: string;
  readonly path: string;
  readonly wav: Buffer;
  readonly pcm: Buffer;
  readonly samples: Int16Array;
  readonly text: string;
}

export function fixtures(): Fixture[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.wav'))
    .sort()
    .map((file) => fixture(file.replace('.wav', '')));
}

export function fixture(name: string): Fixture {
  const path = join(FOLDER, `${name}.wav`);
  const text = readFileSync(join(FOLDER, `${name}.txt`), 'utf8').trim();
  const wav = readFileSync(path);
  const pcm = readPcm16(wav);
  return { name, path, wav, pcm, samples: samplesOf(pcm), text };
}

export function samplesOf(pcm: Buffer): Int16Array {
  return Int16Array.from({ length: pcm.length / 2 }, (_, i) => pcm.readInt16LE(2 * i));
}
