import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runStatus } from '../../../../api/operations/status/command.ts';
import { HEARTBEAT_TTL_MS } from '../../../../common/readiness/heartbeats.ts';
import { wavFile } from '../../../support/audio/wav.ts';
import { AUTHORIZED, upload } from '../../../support/service/api.ts';
import { scriptedPcm } from '../../../support/service/scripted-recognizer.ts';
import { TestService } from '../../../support/service/service.ts';

/* A Redis that answers and refuses: full, with other rights than before, or with keys of others. */

const wav = wavFile(scriptedPcm(0.5));
let service: TestService;
beforeAll(async () => {
  service = await TestService.start();
});
afterAll(() => service.stop());

async function status(): Promise<string> {
  const lines: string[] = [];
  await runStatus([], {
    env: { REDIS_URL: service.redis.url, npm_lifecycle_event: 'status' },
    ...{ print: (line) => lines.push(line), complain: (line) => lines.push(line) },
  });
  return lines.join('\n');
}
const readiness = async (): Promise<number> =>
  (await fetch(`${service.api.origin}/readyz`, { headers: AUTHORIZED })).status;
const redisUp = async (): Promise<boolean> => service.api.services.heartbeat.isWritten;

/** What an operator does to a Redis, what takes it back, and the first thing that status says. */
const REFUSALS: readonly [what: string, spoil: string[][], mend: string[][], says: RegExp, todo: string][] = [
  [
    'full',
    [['CONFIG', 'SET', 'maxmemory', '1mb']],
    [['CONFIG', 'SET', 'maxmemory', '0']],
    /^- redis: \d+ % of its maxmemory are used: when it is full, clients get not_ready\.$/m,
    'raise its maxmemory',
  ],
  [
    'full, in its own words',
    [['CONFIG', 'SET', 'maxmemory', '1mb']],
    [['CONFIG', 'SET', 'maxmemory', '0']],
    /^- redis: it refuses: OOM command not allowed/m,
    'raise its maxmemory',
  ],
  [
    'without the right to run scripts',
    [['ACL', 'SETUSER', 'default', '-eval', '-evalsha', '-set']],
    [['ACL', 'SETUSER', 'default', '+@all']],
    /^- redis: it refuses: NOPERM .*'set' command/m,
    'allow the user in REDIS_URL every command',
  ],
];

describe('readiness, metrics and status of a Redis', () => {
  test.each(REFUSALS)('that is %s', async (_what, spoil, mend, says, todo) => {
    const send = async (commands: readonly string[][]): Promise<void> => {
      for (const [name = '', ...args] of commands) await service.redis.client.call(name, ...args);
    };
    expect([await readiness(), await redisUp()]).toEqual([200, true]);
    await send(spoil);
    try {
      await expect.poll(readiness, { timeout: 6_000 }).toBe(503);
      await expect.poll(redisUp, { timeout: 6_000 }).toBe(false);
      expect((await upload(service.api.origin, wav)).body).toMatchObject({ error: 'not_ready' });
      const text = await status();
      expect(text).toMatch(says);
      expect(text).toContain(`→ ${todo}`);
    } finally {
      await send(mend);
    }
    await expect.poll(readiness, { timeout: 6_000 }).toBe(200);
    await expect.poll(status, { timeout: 6_000 }).toContain('All is well.');
  });
});

/** Found by a walk of chaos (seed 1127091977): a replica that was stopped while Redis was away. */
test('a replica that stood still serves at once, before its next heartbeat', async () => {
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + HEARTBEAT_TTL_MS);
  try {
    expect((await upload(service.api.origin, wav)).status).toBe(200);
    expect(await redisUp()).toBe(true);
  } finally {
    clock.mockRestore();
  }
});

const KEYS = ['slot', 'model-call', 'fence', 'sessions', 'inferences', 'replicas'] as const;
/** What another program may have put there. */
const CONTENTS: readonly [what: string, write: (key: string) => unknown[]][] = [
  ['a hash', (key) => ['HSET', key, 'a', 'b']],
  ['a list', (key) => ['RPUSH', key, 'a']],
  ['no JSON', (key) => ['SET', key, 'no JSON {']],
  ['5 MB', (key) => ['SET', key, Buffer.alloc(5_000_000, 'x')]],
];
/** What status reads; the other keys are named in the log of who uses them. */
const SHOWN = ['slot', 'inferences', 'replicas'];

describe.each(KEYS)('the key {asr}:%s of another program', (name) => {
  const key = `{asr}:${name}`;
  beforeEach(() => service.redis.client.del(key));

  test.each(CONTENTS)('that holds %s', async (_what, write) => {
    const [command = '', ...args] = write(key);
    await service.redis.client.call(String(command), ...(args as (string | Buffer)[]));
    const text = await status();
    if (SHOWN.includes(name)) {
      expect(text).toMatch(/^- (redis: it refuses: .*WRONGTYPE|slot: its value is not of this service)/m);
      expect(text).toContain('→ another program writes under ASR_KEY_PREFIX');
    }
    expect(text.length).toBeLessThan(4_000);
    const answered = upload(service.api.origin, wav);
    if (name !== 'model-call') await answered;

    await service.redis.client.del(key);
    expect([200, 409, 500, 503]).toContain((await answered).status);
    await expect
      .poll(async () => (await upload(service.api.origin, wav)).status, { timeout: 10_000 })
      .toBe(200);
    await expect.poll(status, { timeout: 6_000 }).toContain('All is well.');
  });
});
