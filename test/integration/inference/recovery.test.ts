import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { CHUNK_BYTES } from '../../../common/audio/limits.ts';
import { eventually } from '../../support/machine/eventually.ts';
import { startRedis, type TestRedis } from '../../support/redis/redis.ts';
import { RedisMonitor } from '../../support/redis/redis-monitor.ts';
import { ScriptedProcess } from '../../support/service/inference-process.ts';
import { scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { TestSession } from '../../support/service/test-session.ts';
import { TestUploads } from '../../support/service/test-upload.ts';

let redis: TestRedis;
const processes: ScriptedProcess[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await redis.stop();
});
afterEach(async () => {
  await Promise.all(processes.splice(0).map((process) => process.stop()));
  await redis.client.flushall();
});

async function start(): Promise<ScriptedProcess> {
  const process = await ScriptedProcess.start(redis.url);
  processes.push(process);
  return process;
}

/** What a client must have seen: the partials of an undisturbed run, each at most once, and its final. */
function expectUndisturbed(session: TestSession, pcm: Buffer): void {
  const partials = session.of('partial');
  for (const { takenBytes, text } of partials) {
    expect(text).toBe(scriptedText(pcm.subarray(0, takenBytes), false));
  }
  const [final] = session.of('final');
  const revisions = [...partials, final].map((entry) => entry?.revision);
  expect(revisions).toEqual(revisions.map((_, index) => index + 1));
  expect(new Set(partials.map((entry) => entry.text)).size).toBe(partials.length);
  const taken = session.of('progress').map((entry) => entry.takenBytes);
  expect(taken).toEqual([...new Set(taken)].sort((a, b) => a - b));
  expect(final?.text).toBe(scriptedText(pcm));
}

/** The processes that had the session; one of them twice if this machine stood still for longer than a lease. */
function servedBy(session: TestSession): string[] {
  return [...new Set(session.of('claimed').map((entry) => entry.by))];
}

describe('a session whose process is killed', () => {
  it('goes on in a restarted process as if nothing had happened', async () => {
    const first = await start();
    const pcm = scriptedPcm(3.2);
    const session = await TestSession.open(redis);
    await session.send(pcm.subarray(0, 2 * CHUNK_BYTES));
    await session.until('partial', (entry) => entry.revision === 2);
    // Killed within its third model call: announced as taken, and without a text.
    await first.hold();
    await session.send(pcm.subarray(2 * CHUNK_BYTES, 4 * CHUNK_BYTES));
    await first.held();
    await session.until('progress', (entry) => entry.takenBytes === 3 * CHUNK_BYTES);
    first.kill('SIGKILL');
    await first.exited;

    const second = await start();
    await session.send(pcm.subarray(4 * CHUNK_BYTES));
    await session.producer.end();
    await session.until('final');
    expectUndisturbed(session, pcm);
    // What the first one had taken went into the model in one piece.
    expect(second.calls[0]).toEqual({ kind: 'accept', bytes: 3 * CHUNK_BYTES });
    expect(servedBy(session)).toHaveLength(2);
    await session.close();
    expect(await redis.keys('*session:*')).toEqual([]);
  });

  it('goes on in a standby, and was served by exactly one process before', async () => {
    const both = [await start(), await start()];
    const pcm = scriptedPcm(2.7);
    const session = await TestSession.open(redis);
    await session.send(pcm.subarray(0, 2 * CHUNK_BYTES));
    await session.until('partial', (entry) => entry.revision === 2);
    const [owner = ''] = servedBy(session);
    const active = both.find((process) => owner.includes(`:${process.child.pid}:`));
    const standby = both.find((process) => process !== active);
    await eventually(() => expect(active?.calls).toHaveLength(2));
    expect(standby?.calls).toEqual([]);
    // By the time the lease is renewed, the standby has looked at it several times.
    const lease = `{asr}:session:${session.sessionId}:lease`;
    await redis.client.pexpire(lease, 800);
    await eventually(async () => expect(await redis.client.pttl(lease)).toBeGreaterThan(850));
    expect(await redis.client.get(lease)).toBe(owner);

    active?.kill('SIGKILL');
    await session.send(pcm.subarray(2 * CHUNK_BYTES));
    await session.producer.end();
    await session.until('final');
    expectUndisturbed(session, pcm);
    expect(servedBy(session)).toHaveLength(2);
    await session.close();
  });

  it('and whose client has left meanwhile is put away by the next one without a wait for audio', async () => {
    const session = await TestSession.open(redis);
    const audio = `{asr}:session:${session.sessionId}:audio`;
    const lease = `{asr}:session:${session.sessionId}:lease`;
    // The dead process's lease has not run out when the client leaves.
    await redis.client.set(lease, 'a dead process', 'PX', 500);
    await session.producer.abort();
    const commands: string[][] = [];
    const monitor = await RedisMonitor.start(redis);
    monitor.on('command', (command) => commands.push(command));
    await start();
    await eventually(async () => expect(await redis.keys('{asr}:slot')).toEqual([]));
    const reads = () => commands.filter(([name, ...args]) => name === 'xread' && args.includes(audio));
    await eventually(() => expect(reads()).not.toEqual([]));
    monitor.close();
    expect(reads().filter((read) => read.includes('BLOCK'))).toEqual([]);
    expect(await redis.keys('*session:*')).toEqual([]);
    await session.close();
  });

  it('is given up when it has ended three processes', async () => {
    const session = await TestSession.open(redis);
    await session.send(scriptedPcm(0.5));
    for (let attempt = 1; attempt <= 3; attempt += 1) await ScriptedProcess.killedInCall(redis.url);
    await start();
    expect((await session.until('failed')).message).toContain('given up after 3');
    expect(await redis.keys('{asr}:slot')).toEqual([]);
    await session.close();
  });
});

describe('a process that was paused for longer than its lease', () => {
  it('publishes nothing about a session that a standby has, and serves the next one', async () => {
    const paused = await start();
    const pcm = scriptedPcm(1.2);
    const session = await TestSession.open(redis);
    await paused.hold();
    await session.send(pcm.subarray(0, 2 * CHUNK_BYTES));
    await paused.held();
    paused.kill('SIGSTOP');
    const standby = await start();
    await session.until('partial', (entry) => entry.revision === 2);
    const results = `{asr}:session:${session.sessionId}:results`;
    const entries = await redis.client.xrange(results, '-', '+');

    // The slot is still the session's: only the lease tells the process that it is not the one any more.
    paused.kill('SIGCONT');
    paused.release();
    await eventually(() => expect(paused.logged('session')).toMatchObject([{ outcome: 'lease-lost' }]));
    expect(await redis.client.xrange(results, '-', '+')).toEqual(entries);
    await session.send(pcm.subarray(2 * CHUNK_BYTES));
    await session.producer.end();
    await session.until('final');
    expectUndisturbed(session, pcm);
    await session.close();

    standby.kill('SIGKILL');
    await standby.exited;
    const next = await TestSession.open(redis);
    await next.send(pcm);
    await next.producer.end();
    await next.until('final');
    expectUndisturbed(next, pcm);
    await next.close();
  });

  it('takes its session up again when nobody else has', async () => {
    const only = await start();
    const pcm = scriptedPcm(1.7);
    const session = await TestSession.open(redis);
    await session.send(pcm.subarray(0, CHUNK_BYTES));
    await session.until('partial');
    only.kill('SIGSTOP');
    await eventually(async () => expect(await redis.keys('*:lease')).toEqual([]));
    only.kill('SIGCONT');
    await session.send(pcm.subarray(CHUNK_BYTES));
    await session.producer.end();
    await session.until('final');
    expectUndisturbed(session, pcm);
    await session.close();
  });
});

describe('SIGTERM', () => {
  it('lets the active session end, takes no other, and exits with 0', async () => {
    const process = await start();
    const pcm = scriptedPcm(1.3);
    const session = await TestSession.open(redis);
    await session.send(pcm.subarray(0, CHUNK_BYTES));
    await session.until('partial');
    process.kill('SIGTERM');
    await eventually(async () => {
      const [key = ''] = await redis.keys('{asr}:inference:*');
      expect(await redis.client.get(key)).toContain('"draining"');
    });
    // Longer than the queue, whose end is awaited too, may take to close.
    await delay(1_500);
    await session.send(pcm.subarray(CHUNK_BYTES));
    await session.producer.end();
    await session.until('final');
    expectUndisturbed(session, pcm);
    expect(await process.exited).toEqual({ code: 0, signal: null });
    expect(await redis.keys('{asr}:inference*')).toEqual([]);
    await session.close();
  });

  it('a second one ends it at once with 1', async () => {
    const process = await start();
    await process.hold();
    const session = await TestSession.open(redis);
    await session.send(scriptedPcm(0.5));
    await process.held();
    process.kill('SIGTERM');
    await eventually(() => expect(process.logged('shutting down')).toHaveLength(1));
    // One that comes with the first is the same one passed on, so it is said until it counts.
    const again = (): void => {
      process.kill('SIGTERM');
      expect(process.child.exitCode).toBe(1);
    };
    await eventually(again);
    session.stopRenewing();
    await session.close();
  });

  it('without Redis ends an idle process all the same', async () => {
    const own = await startRedis();
    const process = await ScriptedProcess.start(own.url);
    processes.push(process);
    await own.kill();
    await eventually(() => expect(process.stdout).toContain('Redis is away'));
    process.kill('SIGTERM');
    expect(await process.exited).toEqual({ code: 0, signal: null });
    await own.stop();
  });

  // It retried for as long as a replica waits, and was killed after 40 s.
  it('without Redis gives up an upload once its slot is over', async () => {
    const own = await startRedis();
    const process = await ScriptedProcess.start(own.url);
    processes.push(process);
    await process.hold();
    const uploads = await TestUploads.connect(own);
    await uploads.submit(scriptedPcm(0.5));
    await process.held();
    await own.pause();
    process.release();
    const startedAtMs = performance.now();
    process.kill('SIGTERM');
    expect(await process.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAtMs).toBeLessThan(15_000);
    await own.resume();
    await uploads.close();
    await own.stop();
  });
});
