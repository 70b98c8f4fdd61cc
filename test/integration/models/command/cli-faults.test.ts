import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { modelFolders, storePaths } from '../../../../models/store/store.ts';
import { entryFor, smallDisk, temporaryFolders } from '../small-model.ts';
import { CLI, SMALL_CLI, start } from './command-line.ts';

async function setUp(root?: string) {
  const folders = root === undefined ? await temporaryFolders() : modelFolders(root);
  const settings = JSON.stringify({
    root: dirname(dirname(folders.downloaded)),
    catalogue: [entryFor(Buffer.from('x'))],
  });
  return { folders, paths: storePaths(folders, 'small'), settings };
}

it('says in one line what the disk does not let it do', async () => {
  const { paths, settings } = await setUp();
  // Stands for whatever fails there (no permission, read-only, broken), and fails for root, too.
  await mkdir(paths.part, { recursive: true });
  const { code, stderr } = await start(SMALL_CLI, [settings, 'pull', 'small']).finished;
  expect(stderr).toMatch(/^cannot work on .*downloaded: EISDIR: .*\n$/);
  expect(code).toBe(1);
});

it('ends in silence when nobody reads its answer any more', async () => {
  const child = spawn(process.execPath, [CLI, 'list'], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  expect(said).toBe('');
  expect(code).toBe(0);
});

/** @returns the one file of a model that was downloaded, which is not there */
async function modelOf(paths: ReturnType<typeof storePaths>): Promise<string> {
  await mkdir(paths.model, { recursive: true });
  const files = [{ name: 'model.onnx', bytes: 0, sha256: '' }];
  const receipt = { id: 'small', url: '', archiveSha256: '', pulledAt: '', files };
  await writeFile(paths.receipt, JSON.stringify(receipt));
  return join(paths.model, 'model.onnx');
}

it('names the file that the disk does not let it read', async () => {
  const { paths, settings } = await setUp();
  const loop = await modelOf(paths);
  await symlink(loop, loop);
  const { code, stderr } = await start(SMALL_CLI, [settings, 'verify', 'small']).finished;
  expect(stderr).toMatch(/^cannot work on .*\/small\/model\.onnx: ELOOP: .*\n$/);
  expect(code).toBe(1);
});

it('stops reading a model again on Ctrl-C', async () => {
  const { paths, settings } = await setUp();
  // A file without an end.
  const endless = await modelOf(paths);
  spawnSync('mkfifo', [endless]);
  const { child, finished } = start(SMALL_CLI, [settings, 'verify', 'small']);
  const pipe = await open(endless, 'w');
  const pouring = pipeline(createReadStream('/dev/zero'), pipe.createWriteStream()).catch(() => {});
  child.kill('SIGINT');
  const stopped = '\nstopped; the same command goes on from here\n';
  expect(await finished).toEqual({ code: 130, stdout: '', stderr: stopped });
  await pouring;
});

it('removes a model from a full disk', async (context) => {
  const { folders, paths, settings } = await setUp(await smallDisk(context));
  await mkdir(paths.model, { recursive: true });
  await expect(writeFile(join(paths.model, 'model.onnx'), Buffer.alloc(100_000))).rejects.toThrow('ENOSPC');
  const run = start(SMALL_CLI, [settings, 'remove', 'small']);
  expect(await run.finished).toEqual({ code: 0, stdout: 'small is removed\n', stderr: '' });
  expect(await readdir(folders.downloaded)).toEqual([]);
});
