import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type UnpackOptions, unpackModel } from '../../../../models/download/unpack.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { testFolder } from '../../../support/machine/folders.ts';
import { ARCHIVE, hashesOf, smallDisk, WANTED } from '../small-model.ts';

describe('unpacking an archive', () => {
  let root: string;
  let folder: string;
  beforeEach(async () => {
    root = testFolder();
    folder = join(root, 'model');
    await mkdir(folder);
  });

  const unpack = async (archive: Uint8Array, options: Partial<UnpackOptions> = {}) => {
    const archivePath = join(root, 'archive.tar.bz2');
    await writeFile(archivePath, archive);
    const { signal } = new AbortController();
    return unpackModel({ archivePath, folder, family: 'zipformer2-transducer', signal, ...options });
  };

  it('writes only what the engine needs, and nothing that is no file', async () => {
    const progress: number[] = [];
    await unpack(ARCHIVE, { onProgress: (read, total) => void progress.push(read / total) });
    expect(await hashesOf(folder)).toEqual(WANTED);
    expect(progress.at(-1)).toBe(1);
  });

  it('says that an archive is damaged', async () => {
    const damaged = Buffer.from(ARCHIVE);
    const middle = damaged.length >> 1;
    damaged[middle] = (damaged[middle] ?? 0) ^ 0x10;
    const failure: unknown = await unpack(damaged).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelFailure);
    expect(String(failure)).toMatch(/archive\.tar\.bz2 cannot be unpacked: /);
  });

  it('stops in the middle when it is told to', async () => {
    const stop = new AbortController();
    const reason = new Error('enough');
    const progress: number[] = [];
    const onProgress = (read: number, total: number): void => {
      progress.push(read / total);
      stop.abort(reason);
    };
    await expect(unpack(ARCHIVE, { onProgress, signal: stop.signal })).rejects.toBe(reason);
    expect(progress.at(-1)).toBeLessThan(1);
  });

  it('tells a full disk from a damaged archive', async (context) => {
    const small = await smallDisk(context);
    await expect(unpack(ARCHIVE, { folder: small })).rejects.toMatchObject({ code: 'ENOSPC' });
  });
});
