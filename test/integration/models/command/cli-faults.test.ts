import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
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

it('removes a model from a full disk', async (context) => {
  const { folders, paths, settings } = await setUp(await smallDisk(context));
  await mkdir(paths.model, { recursive: true });
  await expect(writeFile(join(paths.model, 'model.onnx'), Buffer.alloc(100_000))).rejects.toThrow('ENOSPC');
  const run = start(SMALL_CLI, [settings, 'remove', 'small']);
  expect(await run.finished).toEqual({ code: 0, stdout: 'small is removed\n', stderr: '' });
  expect(await readdir(folders.downloaded)).toEqual([]);
});
