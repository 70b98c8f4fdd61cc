import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { CatalogueEntry } from '../../../../models/catalogue.ts';
import type { NetworkSettings } from '../../../../models/download/archive.ts';
import { pullModel } from '../../../../models/download/pull.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { type ModelFolders, storePaths, verifyModel } from '../../../../models/store/store.ts';
import { entryFor, Screen, temporaryFolders, transducerArchive } from '../small-model.ts';
import { ArchiveServer } from './archive-server.ts';

/** A small model's archive, a server that has it, and the pull of it over a real connection. */

const FILES = [
  'README.md',
  'decoder-epoch-20.onnx',
  'download.json',
  'encoder-epoch-20.int8.onnx',
  'joiner-epoch-20.int8.onnx',
  'tokens.txt',
];
const NO_PROXY: NetworkSettings = {
  mirror: undefined,
  httpProxy: undefined,
  httpsProxy: undefined,
  noProxy: undefined,
};

/** `other`: as long, another content, as of a file that changed on the server. */
export async function archives(): Promise<{ archive: Buffer; other: Buffer }> {
  const { archive } = await transducerArchive(120_000);
  const other = Buffer.from(archive);
  other.fill(7, 1_000);
  return { archive, other };
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
  const screen = new Screen();
  const entry = entryFor(archive, options.entry);
  const paths = storePaths(folders, entry.id);
  /** The client has written so many bytes to its part file. */
  const stored = (bytes: number): Promise<void> =>
    vi.waitFor(async () => expect((await stat(paths.part)).size).toBe(bytes), {
      timeout: 5_000,
      interval: 5,
    });
  const pull = (
    network: Partial<NetworkSettings> = {},
    signal: AbortSignal = new AbortController().signal,
    from?: string,
  ) =>
    pullModel({
      entry,
      from,
      folders,
      network: {
        ...NO_PROXY,
        mirror: server.url,
        stallTimeoutMs: 5_000,
        retryDelaysMs: [0, 0],
        ...network,
      },
      output: screen,
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
export async function expectWhole(folders: ModelFolders, entry: CatalogueEntry): Promise<void> {
  expect((await readdir(join(folders.downloaded, entry.id))).sort()).toEqual(FILES);
  expect(await readdir(folders.downloaded)).toEqual([entry.id]);
  expect(await verifyModel(folders, entry)).toEqual([]);
}
