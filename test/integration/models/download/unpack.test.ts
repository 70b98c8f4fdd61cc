import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type UnpackOptions, unpackModel } from '../../../../models/download/unpack.ts';
import { ModelFailure } from '../../../../models/failure.ts';
import { testFolder } from '../../../support/folders.ts';
import { type ArchiveFile, archiveOf, smallDisk, TOP, transducerArchive } from '../small-model.ts';

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
    return unpackModel({
      archivePath,
      folder,
      family: 'zipformer2-ctc',
      signal: new AbortController().signal,
      ...options,
    });
  };
  const model: readonly ArchiveFile[] = [
    { name: `${TOP}/model.int8.onnx`, content: 'graph' },
    { name: `${TOP}/tokens.txt`, content: '<blk> 0\n' },
  ];

  it('writes only what the engine needs', async () => {
    const { archive, files } = await transducerArchive(150_000);
    const progress: number[] = [];
    await unpack(archive, {
      family: 'zipformer2-transducer',
      onProgress: (read, total) => void progress.push(read / total),
    });
    const names = [
      'README.md',
      'decoder-epoch-20.onnx',
      'encoder-epoch-20.int8.onnx',
      'joiner-epoch-20.int8.onnx',
      'tokens.txt',
    ];
    expect((await readdir(folder)).sort()).toEqual(names);
    for (const name of names) expect(files.get(name)?.equals(await readFile(join(folder, name)))).toBe(true);
    expect(progress.at(-1)).toBe(1);
  });

  it('makes nothing of what is no file', async () => {
    const link = { name: `${TOP}/LICENSE`, type: 'symlink', linkname: '/etc/passwd' } as const;
    await unpack(await archiveOf([link, ...model]));
    expect((await readdir(folder)).sort()).toEqual(['model.int8.onnx', 'tokens.txt']);
  });

  it('reads what the tar and bzip2 programs write (fixture: GNU tar, long name, several bzip2 blocks)', async () => {
    const archive = await readFile(join(import.meta.dirname, 'gnu-tar.tar.bz2'));
    await unpack(archive);
    expect((await readdir(folder)).sort()).toEqual(['model.int8.onnx', 'tokens.txt']);
    const graph = await readFile(join(folder, 'model.int8.onnx'));
    expect(graph.equals(Buffer.alloc(250_000, 'step '))).toBe(true);
    expect((await readFile(join(folder, 'tokens.txt'))).length).toBe(14);
  });

  it('says that an archive is damaged', async () => {
    const whole = await archiveOf([...model, { name: `${TOP}/README.md`, content: randomBytes(70_000) }]);
    const damaged = Buffer.from(whole);
    const middle = damaged.length >> 1;
    damaged[middle] = (damaged[middle] ?? 0) ^ 0x10;
    const failure: unknown = await unpack(damaged).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ModelFailure);
    expect(String(failure)).toMatch(/archive\.tar\.bz2 cannot be unpacked: /);
  });

  it('stops in the middle when it is told to', async () => {
    const { archive } = await transducerArchive(300_000);
    const stop = new AbortController();
    const reason = new Error('enough');
    const progress: number[] = [];
    const onProgress = (read: number, total: number): void => {
      progress.push(read / total);
      stop.abort(reason);
    };
    await expect(unpack(archive, { onProgress, signal: stop.signal })).rejects.toBe(reason);
    expect(progress.at(-1)).toBeLessThan(1);
  });

  it('tells a full disk from a damaged archive', async (context) => {
    const small = await smallDisk(context);
    const archive = await archiveOf([...model, { name: `${TOP}/README.md`, content: randomBytes(100_000) }]);
    await expect(unpack(archive, { folder: small })).rejects.toMatchObject({ code: 'ENOSPC' });
  });
});
