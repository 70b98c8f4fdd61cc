import { afterEach, expect, test } from 'vitest';
import { startServer } from '../../../common/launch/server-process.ts';

const node = process.execPath;

afterEach(() => {
  process.execPath = node;
});

test('no process to be had is a start that failed, to be tried again, and no wrong setting', async () => {
  process.execPath = '/no/such/folder/node';
  await expect(startServer('any.js', {}, false)).rejects.toThrow('spawn /no/such/folder/node ENOENT');
});
