import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { startServer } from '../../../../launch/supervisor/server-process.ts';
import { testFolder } from '../../../support/machine/folders.ts';

const node = process.execPath;

afterEach(() => {
  process.execPath = node;
});

test('no process to be had is a start that failed, to be tried again, and no wrong setting', async () => {
  process.execPath = '/no/such/folder/node';
  await expect(startServer('any.js', {}, false)).rejects.toThrow('spawn /no/such/folder/node ENOENT');
});

test('on a terminal its log is for a person', async () => {
  const folder = testFolder();
  const program = join(folder, 'server.mjs');
  writeFileSync(program, `console.log('{"level":30,"process":"api","msg":"serving"}');`);
  const shown = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  onTestFinished(() => shown.mockRestore());
  const run = await startServer(program, {}, true);
  await expect.poll(() => shown.mock.calls).toEqual([['api serving']]);
  run.kill();
  await run.ended;
});
