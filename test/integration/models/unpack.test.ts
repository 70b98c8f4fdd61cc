import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ModelFailure } from '../../../models/failure.ts';
import { type UnpackOptions, unpackModel } from '../../../models/unpack.ts';
import {
  type ArchiveFile,
  archiveOf,
  sha256,
  smallDisk,
  TOP,
  transducerArchive,
  whisperArchive,
} from './small-model.ts';

describe('unpacking an archive', () => {
  let root: string;
  let folder: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'asr-unpack-'));
    folder = join(root, 'model');
    await mkdir(folder);
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const unpack = async (archive: Uint8Array, options: Partial<UnpackOptions> = {}) => {
    const archivePath = join(root, 'archive.tar.bz2');
    await writeFile(archivePath, archive);
    return unpackModel({
      archivePath,
      folder,
      family: 'zipformer2-ctc',
      maxBytes: 1_000_000,
      signal: new AbortController().signal,
      ...options,
    });
  };
  const refusal = async (archive: Uint8Array, options: Partial<UnpackOptions> = {}): Promise<string> => {
    const outcome: unknown = await unpack(archive, options).catch((error: unknown) => error);
    if (!(outcome instanceof ModelFailure)) throw new Error('expected a ModelFailure', { cause: outcome });
    // Whatever was in it: nothing beside the archive and the folder for the model.
    expect((await readdir(root)).sort()).toEqual(['archive.tar.bz2', 'model']);
    return outcome.message;
  };
  const model: readonly ArchiveFile[] = [
    { name: `${TOP}/model.int8.onnx`, content: 'graph' },
    { name: `${TOP}/tokens.txt`, content: '<blk> 0\n' },
  ];

  it('writes only what the engine needs, with the hash of each file', async () => {
    const { archive, files } = await transducerArchive(150_000);
    const progress: number[] = [];
    const unpacked = await unpack(archive, {
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
    expect(unpacked.map((file) => file.name).sort()).toEqual(names);
    for (const file of unpacked) {
      const content = files.get(file.name);
      expect(await readFile(join(folder, file.name))).toEqual(content);
      expect(file).toEqual({
        name: file.name,
        bytes: content?.length,
        sha256: sha256(content ?? Buffer.alloc(0)),
      });
    }
    expect(progress.at(-1)).toBe(1);
  });

  it('keeps the int8 graphs and the tokens of a Whisper archive', async () => {
    const names = ['tiny-decoder.int8.onnx', 'tiny-encoder.int8.onnx', 'tiny-tokens.txt'];
    const unpacked = await unpack(await whisperArchive(), { family: 'whisper' });
    expect((await readdir(folder)).sort()).toEqual(names);
    expect(unpacked.map((file) => file.name).sort()).toEqual(names);
  });

  it('writes through no link that somebody has put in its way', async () => {
    const own = join(folder, 'own');
    await writeFile(own, 'kept');
    await symlink(own, join(folder, 'tokens.txt'));
    expect(await refusal(await archiveOf(model))).toMatch(/EEXIST: .*tokens\.txt/);
    expect(await readFile(own, 'utf8')).toBe('kept');
  });

  it('reads what the tar and bzip2 programs write (fixture: GNU tar, long name, several bzip2 blocks)', async () => {
    const archive = await readFile(join(import.meta.dirname, 'gnu-tar.tar.bz2'));
    const unpacked = await unpack(archive);
    expect((await readdir(folder)).sort()).toEqual(['model.int8.onnx', 'tokens.txt']);
    expect(unpacked.map((file) => [file.name, file.bytes])).toEqual([
      ['model.int8.onnx', 250_000],
      ['tokens.txt', 14],
    ]);
    expect(sha256(Buffer.alloc(250_000, 'step '))).toBe(unpacked[0]?.sha256);
  });

  it.each<[string, ArchiveFile, RegExp]>([
    [
      'a path upwards',
      { name: `${TOP}/../../tokens.txt`, content: 'x' },
      /has the path "sherpa-onnx-small\/\.\.\/\.\.\/tokens\.txt"/,
    ],
    ['an absolute path', { name: '/tmp/asr-escaped/model.onnx', content: 'x' }, /leads out of its folder/],
    ['a backslash path', { name: '..\\model.onnx', content: 'x' }, /leads out of its folder/],
    ['an unneeded file with a path upwards', { name: '../x.wav', content: 'x' }, /leads out of its folder/],
    [
      'a symbolic link',
      { name: `${TOP}/model.onnx`, type: 'symlink', linkname: '/etc/passwd' },
      /"sherpa-onnx-small\/model\.onnx" is a symlink/,
    ],
    ['a link to a folder outside', { name: TOP, type: 'symlink', linkname: '..' }, /is a symlink/],
    ['a hard link', { name: `${TOP}/model.onnx`, type: 'link', linkname: '/etc/passwd' }, /is a link/],
    ['a device', { name: `${TOP}/model.onnx`, type: 'character-device' }, /is a character-device/],
    ['a named pipe', { name: `${TOP}/tokens.txt`, type: 'fifo' }, /is a fifo/],
    ['a file twice', { name: `other/tokens.txt`, content: 'again' }, /it has tokens\.txt twice/],
  ])('refuses %s', async (_what, bad, message) => {
    expect(await refusal(await archiveOf([...model, bad]))).toMatch(message);
    await rm(folder, { recursive: true });
    await mkdir(folder);
    expect(await refusal(await archiveOf([bad, ...model]))).toMatch(message);
  });

  it('refuses what unpacks to too much, needed or not, before it is written', async () => {
    const big = await archiveOf([
      { name: `${TOP}/test_wavs/0.wav`, content: Buffer.alloc(1_500, 1) },
      { name: `${TOP}/test_wavs/1.wav`, content: Buffer.alloc(1_500, 1) },
      ...model,
    ]);
    expect(await refusal(big, { maxBytes: 2_999 })).toMatch(
      /unpacks to more than 2999 bytes \(at "sherpa-onnx-small\/test_wavs\/1\.wav"\)/,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('refuses a header that claims an absurd size', async () => {
    const lie = await archiveOf([
      { name: `${TOP}/model.onnx`, content: 'x', pax: { size: '99999999999999' } } as ArchiveFile,
    ]);
    expect(await refusal(lie)).toMatch(
      /unpacks to more than 1000000 bytes \(at "sherpa-onnx-small\/model\.onnx"\)/,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('refuses what is cut, damaged, or no archive', async () => {
    const whole = await archiveOf([...model, { name: `${TOP}/README.md`, content: randomBytes(70_000) }]);
    const damaged = Buffer.from(whole);
    const middle = damaged.length >> 1;
    damaged[middle] = (damaged[middle] ?? 0) ^ 0x10;
    for (const bytes of [
      whole.subarray(0, whole.length - 30),
      whole.subarray(0, 40),
      damaged,
      Buffer.from('<html>no</html>'),
      Buffer.alloc(0),
    ]) {
      expect(await refusal(bytes)).toMatch(/cannot be unpacked|does not hold this model/);
      await rm(folder, { recursive: true });
      await mkdir(folder);
    }
  });

  it('refuses the archive of another model', async () => {
    expect(await refusal(await archiveOf(model), { family: 'zipformer2-transducer' })).toBe(
      'the archive does not hold this model: expected one encoder, one decoder, one joiner (.onnx) and tokens.txt, found model.int8.onnx, tokens.txt',
    );
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

  it('says that the disk is full', async (context) => {
    const small = await smallDisk(context);
    const archive = await archiveOf([...model, { name: `${TOP}/README.md`, content: randomBytes(100_000) }]);
    expect(await refusal(archive, { folder: small })).toMatch(
      /^no space left on the disk of .*: free some and run the same command again/,
    );
  });
});
