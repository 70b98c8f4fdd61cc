import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../common/process/package-root.ts';
import { SMALL_CTC } from '../support/audio/fixtures.ts';

/** The first process of a container is that of a namespace of its own. Not every machine lets its users make one. */
const UNSHARE = ['--pid', '--fork', '--kill-child'];
const mayUnshare = spawnSync('unshare', [...UNSHARE, 'true']).status === 0;
if (!mayUnshare) console.warn('skipped: this user may not make a namespace with unshare');

/** Sends SIGTERM in the middle of the imports: when `module` is looked for. */
function signalAt(module: string): string {
  const hooks = `export async function resolve(specifier, context, next) {
    if (specifier === '${module}') process.kill(process.pid, 'SIGTERM');
    return next(specifier, context);
  }`;
  const url = (script: string): string => `data:text/javascript,${encodeURIComponent(script)}`;
  return `--import=${url(`import { register } from 'node:module'; register(${JSON.stringify(url(hooks))});`)}`;
}

test.skipIf(!mayUnshare).each([
  ['api', 'fastify'],
  ['inference', 'ioredis'],
])(
  '%s as the first process of a container ends on a SIGTERM that comes while it is loaded',
  async (part, module) => {
    const env = {
      PATH: process.env['PATH'],
      ASR_API_TOKEN: 'a-token-of-this-test',
      ASR_PORT: '0',
      ASR_MODEL: SMALL_CTC,
      // Nobody listens there: it would go on waiting.
      REDIS_URL: 'redis://127.0.0.1:1',
    };
    const program = [process.execPath, signalAt(module), join(packageRoot(), `dist/${part}/main.js`)];
    const child = spawn('unshare', [...UNSHARE, ...program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    expect(code).toBe(0);
    expect(said).not.toContain('"msg":"serving"');
  },
  20_000,
);

test('in Compose another process is the first, which passes on what comes before Node listens', () => {
  const { services } = parse(readFileSync(join(packageRoot(), 'docker-compose.yml'), 'utf8'), {
    merge: true,
  });
  for (const name of ['api', 'inference', 'inference-standby', 'inference-gpu'])
    expect([name, services[name].init]).toEqual([name, true]);
});
