import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { wavFile } from '../support/audio/wav.ts';
import { ATTACKS, AttackUnderWay, holding } from '../support/clients/attacks.ts';
import { upload } from '../support/service/api.ts';
import { startRealService, untilReady } from '../support/service/real-service.ts';
import { scriptedPcm } from '../support/service/scripted-recognizer.ts';
import { temporaryFolder } from '../support/tools/tool.ts';

const LASTS_MS = 5_000;
const LOOK_MS = 50;

// What reached through the proxy, without a token: 430 sockets ended a replica, 30 headers marked it as down.
test.each([
  ['unfinished messages', 430],
  ['messages in fragments of a byte', 430],
  ['blanks in Accept-Language', 30],
])(
  'through the shipped HAProxy: %s, %i at once, and the replica lives',
  async (name, connections) => {
    const service = await startRealService({ ASR_TRUSTED_PROXIES: '127.0.0.1' });
    onTestFinished(() => service.stop());
    const folder = temporaryFolder();
    onTestFinished(folder.remove);
    const port = await freePort();
    const config = readFileSync(join(packageRoot(), 'deploy/haproxy/haproxy.cfg'), 'utf8')
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the file's own
      .replace('":${ASR_PORT}"', `127.0.0.1:${port}`)
      .replace(/^ *server-template api .*$/m, `    server api1 ${new URL(service.origin).host}`);
    const file = join(folder.path, 'haproxy.cfg');
    writeFileSync(file, config);
    const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(async () => {
      haproxy.kill('SIGKILL');
      await once(haproxy, 'exit');
    });
    const log: string[] = [];
    for (const stream of [haproxy.stdout, haproxy.stderr])
      createInterface(stream).on('line', (line) => log.push(line));
    const origin = `http://127.0.0.1:${port}`;
    await expect.poll(() => fetch(`${origin}/healthz`).then(({ status }) => status, String)).toBe(200);

    const attack = ATTACKS.find((known) => known.name === name);
    if (attack === undefined) throw new Error(`no attack "${name}"`);
    const underWay = new AttackUnderWay(origin, attack, connections);
    let most = 0;
    for (let passedMs = 0; passedMs < LASTS_MS; passedMs += LOOK_MS) {
      most = Math.max(most, holding(Number(service.api.child.pid)).megabytes);
      await sleep(LOOK_MS);
    }
    underWay.stop();
    expect(most).toBeLessThan(384);
    await untilReady(origin);
    const status = async (): Promise<number> => (await upload(origin, wavFile(scriptedPcm(1)))).status;
    await expect.poll(status).toBe(200);
    expect(service.api.child.exitCode).toBeNull();
    // What takes memory takes time, too: the kernel's, to read it.
    if (attack.again) expect(log.filter((line) => / DOWN/.test(line))).toEqual([]);
  },
  60_000,
);
