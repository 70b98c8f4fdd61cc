import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { platform } from 'node:process';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { EXIT_CONFIG } from '../../../common/config/config-error.ts';
import { type Readiness, ReadinessStore } from '../../../common/readiness/readiness.ts';
import { modelFolders } from '../../../models/store/store.ts';
import { writeEchoModel } from '../../onnx/echo.ts';
import { SMALL_CTC } from '../../support/audio/fixtures.ts';
import { eventually } from '../../support/machine/eventually.ts';
import { testFolder } from '../../support/machine/folders.ts';
import { startRedis, type TestRedis } from '../../support/redis/redis.ts';
import { ProcessUnderTest } from '../../support/service/inference-process.ts';

let redis: TestRedis;
const processes: ProcessUnderTest[] = [];

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

function start(env: Record<string, string>): ProcessUnderTest {
  const process = new ProcessUnderTest('inference/main.js', env);
  processes.push(process);
  return process;
}

/**
 * As `eventually`, for what is there when a process has started and loaded its model: on a busy machine that
 * takes over ten seconds.
 */
function whenLoaded<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 25_000, interval: 20 });
}

async function whenSaid(expected: Partial<Readiness>): Promise<Readiness> {
  const readiness = new ReadinessStore(redis.store);
  return whenLoaded(async () => {
    const said = await readiness.read();
    expect(said).toMatchObject(expected);
    return said;
  });
}

const oneLine = (text: string): string => {
  expect(text.trimEnd().split('\n')).toHaveLength(1);
  return text;
};

describe('the inference process', () => {
  it('loads the bundled model where none is named, says so, and ends with 0 on SIGTERM', async () => {
    const process = start({ REDIS_URL: redis.url });
    const { processes: said } = await whenSaid({ ready: true });
    expect(said).toMatchObject([{ pid: process.child.pid, model: 'bundled' }]);
    process.kill('SIGTERM');
    expect(await process.exited).toEqual({ code: 0, signal: null });
    const [loaded] = process.logged('model loaded');
    // Named before, for a load that ends the process.
    const begins = process.stdout.indexOf(`"loading the model bundled in ${modelFolders().bundled}"`);
    expect(begins).toBeGreaterThan(-1);
    expect(begins).toBeLessThan(process.stdout.indexOf('model loaded'));
    expect(loaded).toMatchObject({
      process: 'inference',
      model: { id: 'bundled', family: 'whisper', loadMs: expect.any(Number) },
    });
    expect(process.stderr).toBe('');
    expect(await redis.keys()).not.toContain('{asr}:inferences');
  });

  it.skipIf(platform !== 'linux')('runs its model with the threads it was told to', async () => {
    // A large one runs in parts, which have threads of their own.
    const folder = testFolder();
    writeEchoModel(folder, 'zipformer2-ctc', 16);
    const threadsOf = async (threads: number): Promise<number> => {
      const process = start({ REDIS_URL: redis.url, ASR_THREADS: String(threads), ASR_MODEL: folder });
      const loaded = () => process.logged('model loaded')[0];
      await whenLoaded(() => expect(loaded()).toMatchObject({ model: { threads } }));
      return (await readdir(`/proc/${process.child.pid}/task`)).length;
    };
    // The thread that calls works, too.
    expect((await threadsOf(9)) - (await threadsOf(1))).toBe(8);
  });

  it('does not start with a setting that cannot be used: one line says which', async () => {
    const process = start({ REDIS_URL: redis.url, ASR_THREADS: 'many' });
    expect(await process.exited).toEqual({ code: EXIT_CONFIG, signal: null });
    expect(oneLine(process.stderr)).toContain('ASR_THREADS="many"');
    expect(process.stdout).toBe('');
  });

  it('does not start with a list of hot words that cannot be read: one line says which', async () => {
    const process = start({ REDIS_URL: redis.url, ASR_HOTWORDS: '/nowhere/names.txt' });
    expect(await process.exited).toEqual({ code: EXIT_CONFIG, signal: null });
    expect(oneLine(process.stderr)).toMatch(
      /^asr inference: ASR_HOTWORDS="\/nowhere\/names\.txt": cannot be read \(ENOENT.*\): name a file in UTF-8 with one phrase a line\n$/,
    );
  });

  it('does not start on a machine that onnxruntime has no library for: one line says so', async () => {
    // Both threads of the process take themselves for one.
    const preload = `data:text/javascript,Object.defineProperty(process,'arch',{value:'riscv64'})`;
    const process = start({ REDIS_URL: redis.url, NODE_OPTIONS: `--import=${preload}` });
    expect(await process.exited).toEqual({ code: EXIT_CONFIG, signal: null });
    expect(oneLine(process.stderr)).toMatch(
      /^asr inference: onnxruntime-node does not load on this machine, \S+ riscv64 \(Cannot find module '[^' ]+'\); it runs on Linux with glibc /,
    );
    expect(process.stdout).not.toContain('"stack"');
  });

  // The test's own machine: no GPU and no Vulkan driver, whichever this one has (ffmpeg brings a software one).
  it.skipIf(platform !== 'linux').each([
    ['cuda,cpu', 'cuda', { CUDA_VISIBLE_DEVICES: '' }],
    ['webgpu', 'webgpu', { VK_DRIVER_FILES: '/nowhere', VK_ICD_FILENAMES: '/nowhere' }],
  ])('never runs on another execution provider than those named: %s', async (named, provider, machine) => {
    const process = start({ REDIS_URL: redis.url, ASR_EXECUTION_PROVIDERS: named, ...machine });
    expect(await process.exited).toEqual({ code: EXIT_CONFIG, signal: null });
    const refusal = `ASR_EXECUTION_PROVIDERS="${named}": ${provider} does not load `;
    // Above ours, what looks for Vulkan writes lines of its own.
    expect(process.stderr.trimEnd().split('\n').at(-1)).toMatch(`asr inference: ${refusal}`);
    expect(process.logged('ending')).toMatchObject([{ level: 60, reason: expect.stringContaining(refusal) }]);
    expect(process.stdout).not.toContain('"stack"');
  });

  it('stays up without its model, tries again on SIGHUP, and serves when the model is there', async () => {
    const folder = join(testFolder(), 'mine');
    const process = start({ REDIS_URL: redis.url, ASR_MODEL: folder });
    const failures = () =>
      process.logged(
        'the model does not load; trying again on SIGHUP, when its folder changes, or in a minute',
      );
    await whenSaid({ ready: false, error: 'ModelFailure' });
    await eventually(() => expect(failures()).toHaveLength(1));
    expect(failures()[0]?.['reason']).toContain(folder);

    process.kill('SIGHUP');
    await eventually(() => expect(failures()).toHaveLength(2));
    await cp(SMALL_CTC, folder, { recursive: true });
    const { processes: said } = await whenSaid({ ready: true, error: undefined });
    expect(said).toMatchObject([{ model: folder }]);
  });
});
