import { execFile } from 'node:child_process';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';
import { SAME_SIGNAL_MS } from '../../../common/process/shutdown.ts';
import { freePort } from '../../../launch/supervisor/ports.ts';
import { writeQuickModel } from '../../onnx/model-folder.ts';
import { fixture, SMALL_CTC } from '../../support/audio/fixtures.ts';
import { fileFolder, testFolder } from '../../support/machine/folders.ts';
import { fullPipe } from '../../support/machine/full-pipe.ts';
import { takenPort } from '../../support/machine/ports.ts';
import { startRedis } from '../../support/redis/redis.ts';
import { openStream, TOKEN, upload } from '../../support/service/api.ts';
import { sendPaced } from '../../support/service/real-service.ts';
import { childrenOf, environmentOf, type Launched, launch, stillRunning } from './launched.ts';

const run = promisify(execFile);
/**
 * What the tests use whose subject is not the text, since most of a start would be the bundled model's
 * loading.
 */
const quickModel = fileFolder();

beforeAll(() => writeQuickModel(quickModel));

/** `npm start` with a home and temporary folder of its own, so that what is left behind can be seen. */
function start(
  env: Record<string, string> = {},
  options?: Parameters<typeof launch>[3],
): { launched: Launched; temp: string } {
  const temp = testFolder();
  const program = join(packageRoot(), 'dist/launch/supervisor/start.js');
  const all = { TMPDIR: temp, HOME: temp, ASR_PORT: '0', ASR_MODEL: quickModel, ...env };
  return { launched: launch(process.execPath, [program], all, options), temp };
}

async function serversOf({ pid }: Launched): Promise<{ api: number; inference: number; redis: number }> {
  const children = await childrenOf(pid);
  const one = (part: string): number => {
    const [found, ...others] = children.filter(({ command }) => command.includes(part));
    if (found === undefined || others.length > 0) throw new Error(`${part} of ${JSON.stringify(children)}`);
    return found.pid;
  };
  return {
    api: one('dist/api/main.js'),
    inference: one('dist/inference/main.js'),
    redis: one('redis-server'),
  };
}

/** The line that a newcomer pastes into a shell, which is not in the project's folder. */
async function pasted(
  launched: Launched,
  env: Record<string, string> = {},
): Promise<{ text: string; audio_ms: number }> {
  const line = await launched.line('curl ');
  const shell = { cwd: '/', env: { ...process.env, ...env } };
  const { stdout } = await run('sh', ['-c', line.slice(line.indexOf('curl '))], shell);
  return JSON.parse(stdout);
}

async function expectGone(processes: readonly number[], temp: string): Promise<void> {
  await expect.poll(() => stillRunning(processes), { timeout: 8_000 }).toEqual([]);
  await expect.poll(() => readdir(temp)).toEqual([]);
}

test('serves, brings back what dies; Ctrl-C on a terminal lets a recording that is active be finished, and leaves nothing', {
  timeout: 30_000,
}, async () => {
  const settings = { ASR_API_TOKEN: TOKEN, ASR_MODEL: SMALL_CTC };
  const { launched, temp } = start(settings, { ownGroup: true });
  const env = { ASR_API_TOKEN: TOKEN };
  expect(await pasted(launched, env)).toMatchObject({ text: expect.stringMatching(/./u), audio_ms: 3_877 });
  const page = (await launched.line('  page ')).trim().split(/\s+/)[1] ?? '';
  expect((await fetch(page)).status).toBe(200);
  // No terminal: the logs are for programs.
  expect(JSON.parse(await launched.line('"msg":"serving"'))).toMatchObject({ process: 'api' });

  const first = await serversOf(launched);
  const { REDIS_URL: redisUrl = '' } = await environmentOf(first.api);
  // For `npm run status`.
  const shown = join(packageRoot(), '.cache', `private-redis-${launched.pid}`);
  expect(await readFile(shown, 'utf8')).toBe(redisUrl);

  process.kill(first.inference, 'SIGKILL');
  await launched.line('inference ended (SIGKILL): starting it again');
  await expect.poll(() => pasted(launched, env), { timeout: 10_000 }).toMatchObject({ audio_ms: 3_877 });

  process.kill(first.redis, 'SIGKILL');
  await launched.line('redis ended (SIGKILL): starting it again');
  await expect.poll(() => pasted(launched, env), { timeout: 10_000 }).toMatchObject({ audio_ms: 3_877 });
  const second = await serversOf(launched);
  expect(second.api).toBe(first.api);
  expect(second.inference).not.toBe(first.inference);
  const inference = await environmentOf(second.inference);
  expect(inference).toMatchObject({ REDIS_URL: redisUrl });
  expect(inference).not.toHaveProperty('ASR_API_TOKEN');

  // In groups of their own, which the terminal's signal does not reach: in which order they end is the
  // supervisor's to say.
  for (const pid of Object.values(second)) expect(process.kill(-pid, 0)).toBe(true);
  const finish = await startRecording(page);
  // The terminal sends it to all, and npm passes it on to us: one Ctrl-C, two signals.
  process.kill(-launched.pid, 'SIGINT');
  await launched.line('stopping');
  process.kill(launched.pid, 'SIGINT');
  await finish();
  expect(await launched.ended).toBe(0);
  expect(launched.lines.filter((line) => line.startsWith('stopping'))).toHaveLength(1);
  expect(existsSync(shown)).toBe(false);
  await expectGone(Object.values(second), temp);
});

test('behind a proxy that knows nothing of this machine it gets ready, and what it prints works; killed itself, it leaves no process and no file', {
  timeout: 30_000,
}, async () => {
  const proxy = `http://127.0.0.1:${await freePort()}`;
  const env = { http_proxy: proxy, HTTP_PROXY: proxy, NODE_USE_ENV_PROXY: '1' };
  const { launched, temp } = start(env);
  expect(await pasted(launched, env)).toMatchObject({ audio_ms: 3_877 });
  const servers = Object.values(await serversOf(launched));
  process.kill(launched.pid, 'SIGKILL');
  expect(await launched.ended).toBe('SIGKILL');
  await expectGone(servers, temp);
});

/** @returns what sends the rest of the recording, whose final is to be the text of an upload of it */
async function startRecording(page: string): Promise<() => Promise<void>> {
  const { pcm, wav } = fixture('e12');
  const { text } = (await upload(page.slice(0, -1), wav)).body;
  expect(text).toEqual(expect.stringMatching(/./u));
  const client = await openStream(`${page.replace('http', 'ws')}ws/asr`);
  await sendPaced(client, pcm.subarray(0, 32_000), 3_200, 50);
  return async () => {
    await sendPaced(client, pcm.subarray(32_000), 3_200, 50);
    client.end();
    expect(await client.message('final')).toMatchObject({ text });
  };
}

test.each([
  ['takes nothing, for its reader stands still', 'SIGTERM', fullPipe],
  ['cannot be written, for the disk is full', 'SIGHUP', fullDisk],
] as const)(
  'an output that %s does not keep it from serving and, at %s, ending',
  {
    timeout: 30_000,
  },
  async (_, signal, output) => {
    const port = await freePort();
    const { launched, temp } = start({ ASR_PORT: String(port) }, { output: output() });
    const alive = () => fetch(`http://127.0.0.1:${port}/healthz`).then(({ ok }) => ok);
    await expect.poll(() => alive().catch(() => false)).toBe(true);
    const servers = await serversOf(launched);
    process.kill(launched.pid, signal);
    expect(await launched.ended).toBe(0);
    await expectGone(Object.values(servers), temp);
  },
);

function fullDisk(): number {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  return full;
}

test('a second Ctrl-C does not wait for a process that hangs, and the token of the operator is not shown', {
  timeout: 30_000,
}, async () => {
  const token = 'a token of the operator'.replaceAll(' ', '-');
  const { launched, temp } = start({ ASR_API_TOKEN: token });
  await launched.line('Ctrl-C stops everything');
  expect(launched.lines.join('\n')).not.toContain(token);
  const servers = await serversOf(launched);
  process.kill(servers.api, 'SIGSTOP');
  process.kill(launched.pid, 'SIGTERM');
  await launched.line('stopping');
  // Signals in quick succession count as one, so a person's second one comes later; a third would find a
  // process that no longer listens to any.
  await sleep(SAME_SIGNAL_MS + 50);
  process.kill(launched.pid, 'SIGTERM');
  expect(await launched.ended).toBe(1);
  await expectGone(Object.values(servers), temp);
});

test.each([
  ['ASR_PORT', '99999'],
  ['REDIS_URL', 'http://127.0.0.1'],
  ['ASR_HOST', '192.0.2.1'],
  ['ASR_MODEL', '/no/such/model'],
])('%s=%s: one line that names it, and no attempt', async (name, value) => {
  const { launched, temp } = start({ [name]: value });
  expect(await launched.ended).toBe(78);
  expect(launched.lines).toHaveLength(1);
  expect(launched.lines[0]).toContain(name);
  expect(await readdir(temp)).toEqual([]);
});

test.each([
  ['x-asr-480', 'Did you mean x-asr-480ms? If it is not here yet: npm run models -- pull x-asr-480ms'],
  // No developer has this one, and nobody says so twice.
  [
    'zipformer-multi-zh',
    'the model zipformer-multi-zh is not downloaded: run `npm run models -- pull zipformer-multi-zh`',
  ],
])(
  'ASR_MODEL=%s: the id that was meant and the command that fetches it, and no attempt',
  async (model, todo) => {
    const { launched, temp } = start({ ASR_MODEL: model });
    expect(await launched.ended).toBe(78);
    expect(launched.lines).toEqual([expect.stringContaining(todo)]);
    expect(await readdir(temp)).toEqual([]);
  },
);

test.each([
  [['notes.txt'], /give a folder with \*\.onnx and tokens\.txt/],
  [['am.mvn', 'config.yaml', 'model_quant.onnx', 'tokens.json'], /FunASR's own form .*sherpa-onnx publishes/],
])('a folder with %s and no model: one line with the reason, and no attempt', async (names, reason) => {
  const folder = testFolder();
  for (const name of names) writeFileSync(join(folder, name), '');
  const { launched, temp } = start({ ASR_MODEL: folder });
  expect(await launched.ended).toBe(78);
  expect(launched.lines).toEqual([expect.stringMatching(reason)]);
  expect(await readdir(temp)).toEqual([]);
});

test('a setting that is none is named once, with the one that was probably meant', async () => {
  const { launched } = start({ ASR_MODLE: 'x', ASR_SERVICE_HOST: '10.0.0.1' });
  await launched.line('Ctrl-C stops everything');
  process.kill(launched.pid, 'SIGTERM');
  expect(await launched.ended).toBe(0);
  const about = launched.lines.filter((line) => /ASR_MODLE|ASR_SERVICE/.test(line));
  expect(about).toEqual(['ASR_MODLE is no setting and changes nothing: did you mean ASR_MODEL?']);
  // Fastify would say it, too.
  expect(launched.lines.filter((line) => /listening|serving/.test(line))).toHaveLength(1);
});

test('a model that does not load, a Redis that refuses or is not there: one line that says so while it waits, without password and token', async () => {
  const redis = await startRedis(['--requirepass', 'right']);
  onTestFinished(() => redis.stop());
  const token = 'the-token-of-the-operator';
  const withoutModel = start({ ASR_API_TOKEN: token, ASR_MODEL: testFolder() });
  await withoutModel.launched.line('not ready yet: ModelLoadError');
  const refusing = start({
    ASR_API_TOKEN: token,
    REDIS_URL: redis.url.replace('//', '//:given-password@'),
  });
  await refusing.launched.line('not ready yet: Redis refuses (WRONGPASS');
  const away = start({ REDIS_URL: `redis://127.0.0.1:${await freePort()}`, ASR_LOG_LEVEL: 'silent' });
  await away.launched.line('not ready yet: Redis is away (connect ECONNREFUSED');
  for (const { launched, temp } of [withoutModel, refusing, away]) {
    process.kill(launched.pid, 'SIGTERM');
    expect(await launched.ended).toBe(0);
    expect(launched.lines.filter((line) => line.startsWith('not ready yet'))).toHaveLength(1);
    expect(launched.lines.join('\n')).not.toMatch(new RegExp(`given-password|${token}`));
    expect(await readdir(temp)).toEqual([]);
  }
}, 30_000);

test('settings that only show to be wrong when the model is loaded end it, and are not tried again', async () => {
  const { launched, temp } = start({ ASR_EXECUTION_PROVIDERS: 'cuda', CUDA_VISIBLE_DEVICES: '' });
  expect(await launched.ended).toBe(78);
  const text = launched.lines.join('\n');
  expect(text).toContain('asr inference: ASR_EXECUTION_PROVIDERS="cuda": cuda does not load on this machine');
  expect(text).toContain('inference cannot run with these settings');
  expect(text).not.toContain('starting it again');
  expect(await readdir(temp)).toEqual([]);
});

test('a Redis that does not start: its own words and exit code 1, which is no wrong setting', async () => {
  const bin = testFolder();
  await writeFile(join(bin, 'redis-server'), '#!/bin/sh\necho no room\nexit 3\n', { mode: 0o755 });
  const { launched, temp } = start({ PATH: `${bin}:${process.env['PATH']}` });
  expect(await launched.ended).toBe(1);
  expect(launched.lines).toEqual(['redis-server does not start (exit code 3)', 'no room']);
  expect(await readdir(temp)).toEqual([]);
});

test('a port that is taken: one line that says so', async () => {
  const port = await takenPort();
  const { launched } = start({ ASR_PORT: String(port) });
  expect(await launched.ended).toBe(78);
  expect(launched.lines).toEqual([expect.stringContaining(`port ${port} of 127.0.0.1 is taken`)]);
});
