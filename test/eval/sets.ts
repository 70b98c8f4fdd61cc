import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readPcm16 } from '../../common/audio/pcm16.ts';
import { messageOf } from '../../common/errors/errors.ts';
import { packageRoot } from '../../common/process/package-root.ts';

export interface Recording {
  /** The file's name. */
  readonly name: string;
  /** What was said. */
  readonly truth: string;
  /** 16 kHz mono PCM16, little-endian. */
  readonly pcm: Buffer;
}

/** Recordings of real people, with their source and licence in the folder. */
export const DEFAULT_SET = join(packageRoot(), 'test', 'fixtures', 'real-speech');

const TEXTS = 'texts.tsv';
const HEADER = /^file\ttext(\t|$)/;

/**
 * Reads a set: a folder with WAV files and `texts.tsv`. Its first line is the header `file<TAB>text`, and
 * each other line names a recording and what was said. Further columns are for people.
 * @throws when a line or a file is not as it must be; the message names it.
 */
export async function readSet(folder: string): Promise<Recording[]> {
  const path = join(folder, TEXTS);
  // As editors on Windows write it, too.
  const text = (await readFile(path, 'utf8')).replace(/^\uFEFF/, '');
  const [header = '', ...lines] = text.split(/\r?\n/).filter((line) => line !== '');
  if (!HEADER.test(header)) {
    throw new Error(
      `${path} begins with "${header}": write the header file<TAB>text above the first recording`,
    );
  }
  if (lines.length === 0) {
    throw new Error(`${path} names no recording: write a line file<TAB>text for each below the header`);
  }
  const recordings: Recording[] = [];
  // One after the other: all at once, a large set is more files than a process may have open.
  for (const line of lines) {
    const [name, truth] = line.split('\t');
    if (!name || truth === undefined) {
      throw new Error(`${path}: "${line}" is not file<TAB>text`);
    }
    recordings.push({ name, truth, pcm: await readRecording(join(folder, name)) });
  }
  return recordings;
}

async function readRecording(path: string): Promise<Buffer> {
  const file = await readFile(path);
  try {
    return readPcm16(file);
  } catch (error) {
    // It speaks to a client, who knows which file was sent.
    throw new Error(`${path}: ${messageOf(error)}`, { cause: error });
  }
}

/**
 * The sets inside `folder`, or the folder itself when it is one.
 * @throws when there is none.
 */
export async function setsIn(folder: string): Promise<string[]> {
  if (await isSet(folder)) return [folder];
  const inside = (await readdir(folder)).sort().map((name) => join(folder, name));
  const sets: string[] = [];
  for (const path of inside) if (await isSet(path)) sets.push(path);
  if (sets.length === 0) {
    throw new Error(
      `${folder} has no ${TEXTS}, and no folder in it has one: it names each WAV file and what is said in it`,
    );
  }
  return sets;
}

const isSet = (folder: string): Promise<boolean> =>
  access(join(folder, TEXTS)).then(
    () => true,
    () => false,
  );
