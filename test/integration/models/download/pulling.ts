import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { CatalogueEntry } from '../../../../models/catalogue.ts';
import type { NetworkSettings } from '../../../../models/download/archive.ts';
import { pullModel } from '../../../../models/download/pull.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { type ModelFolders, storePaths } from '../../../../models/store/store.ts';
import { entryFor, ScreenText, temporaryFolders, transducerArchive } from '../small-model.ts';
import { ArchiveServer } from './archive-server.ts';

/** A small model's archive, a server that has it, and the pull of it over a real connection. */

const WANTED = [
  'README.md',
  'decoder-epoch-20.onnx',
  'encoder-epoch-20.int8.onnx',
  'joiner-epoch-20.int8.onnx',
  'tokens.txt',
];

/** `other`: as long, another content, as of a file that changed on the server. */
export async function archives() {
  const { archive, files } = await transducerArchive(120_000);
  const other = Buffer.from(archive);
  other.fill(7, 1_000);
  return { archive, files, other };
}

export interface PullOptions {
  readonly content?: Buffer;
  readonly entry?: Partial<CatalogueEntry>;
}

export async function setUpPull(archive: Buffer, options: PullOptions = {}) {
  const server = new ArchiveServer(options.content ?? archive);
  await server.listen();
  onTestFinished(() => server.close());
  const folders = await temporaryFolders();
  const screen = new ScreenText();
  const entry = entryFor(archive, options.entry);
  const paths = storePaths(folders, entry.id);
  /** The client has written so many bytes to its part file. */
  const stored = (bytes: number): Promise<void> =>
    vi.waitFor(async () => expect((await stat(paths.part)).size).toBe(bytes), {
      timeout: 5_000,
      interval: 5,
    });
  const pull = (
    { env, ...network }: Partial<NetworkSettings> = {},
    signal: AbortSignal = new AbortController().signal,
    from?: string,
  ) =>
    pullModel({
      entry,
      from,
      folders,
      network: {
        env: { ASR_MODEL_MIRROR: server.url, ...env },
        stallTimeoutMs: 5_000,
        retryDelaysMs: [0, 0],
        ...network,
      },
      screen,
      signal,
    });
  const refusal = async (network?: Partial<NetworkSettings>): Promise<string> => {
    const outcome: unknown = await pull(network).catch((error: unknown) => error);
    if (!(outcome instanceof ModelFailure)) throw new Error('expected a ModelFailure', { cause: outcome });
    return outcome.message;
  };
  return { server, folders, screen, entry, paths, stored, pull, refusal };
}

/** The model is whole, and nothing else is left in the folder. */
export async function expectWhole(folders: ModelFolders, files: ReadonlyMap<string, Buffer>): Promise<void> {
  expect(await readdir(folders.downloaded)).toEqual(['small']);
  const model = join(folders.downloaded, 'small');
  expect((await readdir(model)).sort()).toEqual(['download.json', ...WANTED].sort());
  for (const name of WANTED) expect(files.get(name)?.equals(await readFile(join(model, name)))).toBe(true);
}
