import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished, type TestContext } from 'vitest';
import type { CatalogueEntry } from '../../../models/catalogue.ts';
import type { Screen } from '../../../models/download/report.ts';
import { type ModelFolders, modelFolders } from '../../../models/store/store.ts';
import { testFolder } from '../../support/machine/folders.ts';

export const TOP = 'sherpa-onnx-small';

/**
 * In the shape of the real transducer archives: both precisions, recordings, a tokenizer; graphs of random
 * bytes. Besides, what must not be made: a link, hidden files, a long name. By GNU tar and `bzip2 -1`.
 */
export const ARCHIVE = readFileSync(join(import.meta.dirname, 'small.tar.bz2'));

/** As long, with another content, as of a file that changed on the server. */
export const OTHER = Buffer.concat([ARCHIVE.subarray(0, 1_000), Buffer.alloc(ARCHIVE.length - 1_000, 7)]);

/** What the engine needs of it, with its sha256. */
export const WANTED: Readonly<Record<string, string>> = {
  'README.md': '5e05dfca6eeba9772cf92c589149b62c0fd75573469b8801649008df8f8e8f5f',
  'decoder-epoch-20.onnx': '7a5c52efdcf6672099053d613fb2b2ec4097b41372f2177c2d97844e529a4c05',
  'encoder-epoch-20.int8.onnx': '7eaa70d6321929d40b74f7a84a6d67a585fab3e78a587a046052bd4c3ac00f4b',
  'joiner-epoch-20.int8.onnx': '010256d49c410e72229dbebbef8860e0b1fff4c102aa06fb9cfc145ff30d3c61',
  'tokens.txt': 'fcce42f8e4896424835fd371f1e487635aac7e8a0cb70798fdb453ccc8c83548',
};

/** @returns the sha256 of each file in a folder */
export async function hashesOf(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).sort();
  const hashes = names.map(async (name) => [name, sha256(await readFile(join(folder, name)))] as const);
  return Object.fromEntries(await Promise.all(hashes));
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export function entryFor(archive: Buffer = ARCHIVE): CatalogueEntry {
  return {
    id: 'small',
    recommended: false,
    summary: 'for tests',
    languages: 'Chinese',
    family: 'zipformer2-transducer',
    isReDecoding: false,
    stepMs: 320,
    archive: TOP,
    archiveBytes: archive.length,
    archiveSha256: sha256(archive),
    licence: undefined,
    characterErrorRates: [],
  };
}

/** Folders of their own, deleted after the test. */
export async function temporaryFolders(): Promise<ModelFolders> {
  const root = testFolder();
  await mkdir(join(root, 'models'));
  return modelFolders(root);
}

/** A folder with a disk of its own, of 64 KiB. */
export async function smallDisk(context: TestContext): Promise<string> {
  const folder = testFolder();
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status !== 0)
    context.skip('a file system of 64 KiB takes the right to mount');
  onTestFinished(() => void spawnSync('umount', ['-l', folder]));
  return folder;
}

/** Collects what a person would see. */
export class ScreenText implements Screen {
  readonly isTerminal = false;
  text = '';
  write(text: string): void {
    this.text += text;
  }
}
