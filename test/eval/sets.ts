import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readWav } from '../../common/audio/wav.ts';
import { messageOf } from '../../common/errors.ts';
import { packageRoot } from '../../common/package-root.ts';

export interface Recording {
  readonly name: string;
  /** What was said. */
  readonly truth: string;
  /** 16 kHz mono PCM16, little-endian. */
  readonly pcm: Buffer;
}

const TRAINING = join(packageRoot(), 'models', 'training');
/** The one that is made last. */
const LAST_SET = 'people';
const SETS = ['synthetic', 'recorded', 'hard', 'waiting', LAST_SET];

/** The sets that the training recipe makes; made now, with its Python, when they are not there. */
export async function recipeSets(): Promise<string[]> {
  // As its folders.py has it.
  const folder = join(process.env['WORK'] ?? join(TRAINING, 'work'), 'eval');
  const sets = SETS.map((name) => join(folder, name));
  if (!(await isThere(join(folder, LAST_SET, 'text.tsv')))) {
    console.error('making the evaluation sets with models/training/synthesize.py (about two minutes) ...');
    const program = process.env['PYTHON'] ?? '/usr/bin/python3';
    const fault = await makeSets(program);
    if (fault !== undefined) {
      throw new Error(
        `the sets could not be made: ${fault}; models/training/README.md has the packages that synthesize.py needs`,
      );
    }
  }
  return sets;
}

/** @returns where the reader finds what went wrong. */
async function makeSets(program: string): Promise<string | undefined> {
  const python = spawn(program, [join(TRAINING, 'synthesize.py'), 'eval'], { stdio: ['ignore', 2, 2] });
  try {
    const [code] = await once(python, 'exit');
    return code === 0 ? undefined : 'see above';
  } catch (error) {
    // It was not started, so nothing stands above.
    return `${program} does not run (${messageOf(error)}): PYTHON names another one`;
  }
}

/**
 * Reads a set: a folder with WAV files and `text.tsv`, a line `file<TAB>text` for each.
 * @throws when a line or a file is not as it must be.
 */
export async function readSet(folder: string): Promise<Recording[]> {
  const path = join(folder, 'text.tsv');
  // As editors on Windows write it, too.
  const text = (await readFile(path, 'utf8')).replace(/^\uFEFF/, '');
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  if (lines.length === 0) throw new Error(`${path} is empty: write a line file<TAB>text for each recording`);
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
    return readWav(file);
  } catch (error) {
    // It speaks to a client, who knows which file was sent.
    throw new Error(`${path}: ${messageOf(error)}`, { cause: error });
  }
}

/** The sets inside `folder`, or the folder itself when it is one. */
export async function setsIn(folder: string): Promise<string[]> {
  if (await isThere(join(folder, 'text.tsv'))) return [folder];
  const inside = (await readdir(folder)).sort().map((name) => join(folder, name));
  const sets: string[] = [];
  for (const path of inside) if (await isThere(join(path, 'text.tsv'))) sets.push(path);
  if (sets.length === 0) throw new Error(`${folder} has no text.tsv, and no folder in it has one`);
  return sets;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
