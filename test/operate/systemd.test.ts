import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { EXIT_CONFIG } from '../../common/config/config-error.ts';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { fixture } from '../support/audio/fixtures.ts';
import { eventually } from '../support/machine/eventually.ts';
import { startRedis } from '../support/redis/redis.ts';
import { openStream, TOKEN, upload } from '../support/service/api.ts';
import { sendPaced, untilReady } from '../support/service/real-service.ts';
import { temporaryFolder } from '../support/tools/tool.ts';

const analyze = spawnSync('systemd-analyze', ['--version']).status === 0;
/** A container may forbid it. */
const trace = spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0;
const folder = temporaryFolder();
afterAll(() => folder.remove());

const PROCESSES = ['api', 'inference'] as const;
const unitOf = (name: string): string =>
  readFileSync(join(packageRoot(), `deploy/systemd/asr-${name}.service`), 'utf8');

// systemd itself does not run in a container or a CI job: the units are read by it, and were not started by it.
describe.each(PROCESSES)('asr-%s.service', (name) => {
  const unit = unitOf(name);

  test.skipIf(!analyze)('has nothing that systemd objects to', () => {
    const file = join(folder.path, `asr-${name}.service`);
    writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [, program = ''] = /^ExecStart=\/usr\/bin\/node (\S+)$/m.exec(unit) ?? [];
    expect(existsSync(join(packageRoot(), program))).toBe(true);
  });

  test('is started again after any number of crashes, but not with a wrong setting', () => {
    const [, ofUnit = '', ofService = ''] = unit.split(/^\[(?:Unit|Service)\]$/m);
    expect(ofUnit).toContain('\nStartLimitIntervalSec=0\n');
    expect(ofService).toContain('\nRestart=always\n');
    expect(ofService).toContain(`\nRestartPreventExitStatus=${EXIT_CONFIG}\n`);
  });

  test('lets nobody else read what it might write, and allows no calls by another architecture', () => {
    expect(unit).toContain('\nUMask=0077\n');
    expect(unit).toContain('\nSystemCallArchitectures=native\n');
    // Not SIGSYS: a library that tries a call and goes on without it would end the process.
    expect(unit).toContain('\nSystemCallErrorNumber=EPERM\n');
  });
});

test.skipIf(!analyze || !trace)('the filters allow each system call of the running service', async () => {
  const redis = await startRedis();
  const port = await freePort();
  const env = { REDIS_URL: redis.url, ASR_API_TOKEN: TOKEN, ASR_PORT: String(port), ASR_LOG_LEVEL: 'warn' };
  const processes = PROCESSES.map((name) => startTraced(name, { PATH: process.env['PATH'], ...env }));
  try {
    const origin = `http://127.0.0.1:${port}`;
    await eventually(() => fetch(origin));
    await untilReady(origin);
    const { wav, pcm } = fixture('e00');
    expect(await upload(origin, wav)).toMatchObject({ status: 200 });
    const client = await openStream(`${origin.replace('http', 'ws')}/ws/asr`);
    await sendPaced(client, pcm, 3_200, 20);
    client.end();
    await client.message('final');
  } finally {
    for (const process of processes) process.kill('SIGTERM');
    // With the tracers, which hold the same standard error.
    await Promise.all(processes.map((process) => once(process, 'close')));
    await redis.stop();
  }
  for (const name of PROCESSES) expect(readFileSync(join(folder.path, name), 'utf8'), name).toBe('');
});

/** Traces the calls that the unit's filter does not allow into a file of the process's name. */
function startTraced(name: (typeof PROCESSES)[number], env: NodeJS.ProcessEnv): ChildProcess {
  const [, filter = ''] = /^SystemCallFilter=(.*)$/m.exec(unitOf(name)) ?? [];
  const allowed = filter.split(' ').flatMap(callsOf);
  // Each with "?", because systemd knows calls of other architectures, too. -D: node is the child, not strace.
  const calls = `trace=!${allowed.map((call) => `?${call}`).join(',')}`;
  const strace = [
    '-D',
    '-f',
    '-qq',
    '--seccomp-bpf',
    '-e',
    calls,
    '-e',
    'signal=none',
    '-o',
    join(folder.path, name),
  ];
  return spawn('strace', [...strace, process.execPath, `dist/${name}/main.js`], {
    cwd: packageRoot(),
    env,
    stdio: ['ignore', 'inherit', 'pipe'],
  });
}

/** The system calls of a filter's word: a call, or a group of calls and groups. */
function callsOf(word: string): string[] {
  if (!word.startsWith('@')) return [word];
  const lines = execFileSync('systemd-analyze', ['syscall-filter', word], { encoding: 'utf8' }).split('\n');
  const words = lines.slice(1).map((line) => line.trim());
  return words.filter((line) => /^[@\w]/.test(line)).flatMap(callsOf);
}
