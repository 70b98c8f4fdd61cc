import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import type { NetworkSettings } from '../../../../models/download/archive.ts';
import { pullModel } from '../../../../models/download/pull.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { type ModelFolders, storePaths } from '../../../../models/store/store.ts';
import { ARCHIVE, entryFor, hashesOf, ScreenText, temporaryFolders, WANTED } from '../small-model.ts';
import { ArchiveServer } from './archive-server.ts';

/** A small model's archive, a server that has it, and the pull of it over a real connection. */

export async function setUpPull(content = ARCHIVE) {
  const server = new ArchiveServer(content);
  await server.listen();
  onTestFinished(() => server.close());
  const folders = await temporaryFolders();
  const screen = new ScreenText();
  const entry = entryFor();
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
export async function expectWhole(folders: ModelFolders): Promise<void> {
  expect(await readdir(folders.downloaded)).toEqual(['small']);
  const { 'download.json': receipt, ...files } = await hashesOf(join(folders.downloaded, 'small'));
  expect(receipt).toBeDefined();
  expect(files).toEqual(WANTED);
}
