import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type Header, pack } from 'tar-stream';
import { onTestFinished, type TestContext } from 'vitest';
import type { CatalogueEntry } from '../../../models/catalogue.ts';
import type { Screen } from '../../../models/download/report.ts';
import { type ModelFolders, modelFolders } from '../../../models/store/store.ts';
import { testFolder } from '../../support/folders.ts';
import { bzip2 } from './download/bzip2.ts';

export type ArchiveFile = Partial<Header> & {
  name: string;
  content?: Uint8Array | string;
};

/** A `.tar.bz2` of these entries, whatever they are. */
export async function archiveOf(files: readonly ArchiveFile[]): Promise<Buffer> {
  const tar = pack();
  for (const { content, ...header } of files) {
    tar.entry(header, typeof content === 'string' ? Buffer.from(content) : (content ?? Buffer.alloc(0)));
  }
  tar.finalize();
  return bzip2(await buffer(tar));
}

export const TOP = 'sherpa-onnx-small';

/**
 * The shape of the real transducer archives: both precisions, recordings, a tokenizer; graphs of random bytes
 * that do not shrink.
 */
export async function transducerArchive(
  graphBytes: number,
): Promise<{ archive: Buffer; files: ReadonlyMap<string, Buffer> }> {
  const files = new Map<string, Buffer>([
    ['encoder-epoch-20.int8.onnx', randomBytes(graphBytes)],
    ['encoder-epoch-20.onnx', randomBytes(2_000)],
    ['decoder-epoch-20.int8.onnx', randomBytes(500)],
    ['decoder-epoch-20.onnx', randomBytes(900)],
    ['joiner-epoch-20.onnx', randomBytes(800)],
    ['joiner-epoch-20.int8.onnx', randomBytes(400)],
    ['tokens.txt', Buffer.from('<blk> 0\n你 1\n好 2\n')],
    ['README.md', Buffer.from('license: apache-2.0\n')],
    ['bpe.model', randomBytes(300)],
    ['._encoder-epoch-20.onnx', randomBytes(100)],
    ['test_wavs/0.wav', randomBytes(1_000)],
    ['test_wavs/tokens.txt', Buffer.from('not these')],
  ]);
  const entries = [...files].map(([name, content]) => ({ name: `${TOP}/${name}`, content }));
  return { archive: await archiveOf([{ name: `${TOP}/`, type: 'directory' }, ...entries]), files };
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export function entryFor(archive: Buffer, overrides: Partial<CatalogueEntry> = {}): CatalogueEntry {
  return {
    id: 'small',
    recommended: false,
    summary: 'for tests',
    languages: 'Chinese',
    family: 'zipformer2-transducer',
    stepMs: 320,
    archive: TOP,
    archiveBytes: archive.length,
    archiveSha256: sha256(archive),
    licence: undefined,
    characterErrorRates: [],
    ...overrides,
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
