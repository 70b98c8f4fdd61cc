import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../../../common/launch/embedded-redis.ts';

test.each(['quotes " and \\', 'spaces 语音', 'a line break\nappendonly yes', 'a tab\tand a bell\u0007'])(
  'works in a folder whose name has %j',
  async (name) => {
    const parent = await realpath(await mkdtemp(join(tmpdir(), 'asr-redis-')));
    onTestFinished(() => rm(parent, { recursive: true }));
    const folder = join(parent, name);
    await mkdir(folder);
    const server = await startRedis({ folder });
    onTestFinished(() => server.stop());
    const client = new Redis(server.url);
    onTestFinished(() => client.disconnect());
    expect(await client.config('GET', 'dir')).toEqual(['dir', folder]);
    expect(await client.config('GET', 'appendonly')).toEqual(['appendonly', 'no']);
  },
);
