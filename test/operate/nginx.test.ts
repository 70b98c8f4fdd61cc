import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { UPLOAD_DEADLINE_MS } from '../../common/uploads/upload-jobs.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { wavFile } from '../support/audio/wav.ts';
import { AUTHORIZED, openStream, TOKEN } from '../support/service/api.ts';
import { scriptedPcm, scriptedText } from '../support/service/scripted-recognizer.ts';
import { TestService } from '../support/service/service.ts';
import { temporaryFolder } from '../support/tools/tool.ts';

const CONFIG = readFileSync(join(packageRoot(), 'deploy/nginx/asr.conf'), 'utf8');
/** What a site of another origin needs, from the page that shows it: its indented lines. */
const OTHER_SITE = readFileSync(join(packageRoot(), 'docs/clients.md'), 'utf8')
  .split('\n\n')
  .find((paragraph) => paragraph.startsWith('    location '));
/** The longest there may be. */
const PCM = scriptedPcm(15);

const folder = temporaryFolder();
const file = (name: string): string => join(folder.path, name);
const stops: (() => unknown)[] = [folder.remove];
const log: string[] = [];
let host: string;
let otherSite: string;

beforeAll(async () => {
  const service = await TestService.start({ env: { ASR_TRUSTED_PROXIES: '127.0.0.1' } });
  stops.push(() => service.stop());
  const port = await freePort();
  host = `localhost:${port}`;
  const made = '-newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost';
  const files = ['-keyout', file('asr.key'), '-out', file('asr.crt')];
  execFileSync('openssl', ['req', '-x509', ...made.split(' '), ...files], { stdio: 'ignore' });
  const config = CONFIG.replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('127.0.0.1:8088', new URL(service.api.origin).host)
    .replaceAll('/etc/nginx/', `${folder.path}/`)
    // With the limit that stands there as comments.
    .replaceAll(/^( *)#(?=limit_req|add_header)/gm, '$1');
  writeFileSync(file('asr.conf'), config);
  const otherPort = await freePort();
  otherSite = `http://127.0.0.1:${otherPort}`;
  const lines = OTHER_SITE?.replace('127.0.0.1:8088', new URL(service.api.origin).host);
  writeFileSync(file('other.conf'), `server { listen 127.0.0.1:${otherPort};\n${lines}\n}`);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = temporary.map((kind) => `${kind}_temp_path ${file(kind)};`).join(' ');
  const main = `daemon off; pid ${file('pid')}; error_log stderr notice; events {}
    http { access_log off; ${paths} include ${file('asr.conf')}; include ${file('other.conf')}; }`;
  writeFileSync(file('nginx.conf'), main);
  const nginx = spawn('nginx', ['-p', folder.path, '-c', file('nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  stops.push(async () => {
    nginx.kill('SIGQUIT');
    await once(nginx, 'exit');
  });
  await new Promise<void>((resolve, reject) => {
    createInterface(nginx.stderr).on('line', (line) => {
      log.push(line);
      if (line.includes('start worker process ')) resolve();
    });
    nginx.on('error', reject);
    nginx.on('exit', () => reject(new Error(`nginx has ended:\n${log.join('\n')}`)));
  });
});

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

async function curl(path: string, ...args: string[]): Promise<string> {
  const always = ['--silent', '--show-error', '--noproxy', '*', '--cacert', file('asr.crt')];
  return (await promisify(execFile)('curl', [...always, ...args, `https://${host}${path}`])).stdout;
}

test('the longest upload is recognized, and no part of it touches the disk', async () => {
  writeFileSync(file('recording.wav'), wavFile(PCM));
  const form = ['-H', `Authorization: Bearer ${TOKEN}`, '-F', `file=@${file('recording.wav')}`];
  const answer = JSON.parse(await curl('/v1/audio/transcriptions', ...form));
  expect(answer).toMatchObject({ text: scriptedText(PCM), audio_ms: 15_000 });
  expect(log.filter((line) => line.includes('temporary file'))).toEqual([]);
});

test('a site of another origin passes uploads on with the lines of docs/clients.md', async () => {
  const send = (path: string) => {
    const body = new FormData();
    body.append('file', new Blob([wavFile(PCM)]), 'recording.wav');
    // What a browser sends with it says nothing to the service.
    const headers = { ...AUTHORIZED, origin: otherSite };
    return fetch(otherSite + path, { method: 'POST', headers, body });
  };
  expect(await (await send('/asr/v1/audio/transcriptions')).json()).toMatchObject({
    text: scriptedText(PCM),
  });
  expect(log.filter((line) => line.includes('temporary file'))).toEqual([]);
  // Nothing else of the service is on that site.
  expect((await fetch(`${otherSite}/asr/api-docs`)).ok).toBe(false);
});

test('a stream ends with its final text', async () => {
  const ca = readFileSync(file('asr.crt'));
  const client = await openStream(`wss://${host}/ws/asr`, AUTHORIZED, ca);
  const pcm = PCM.subarray(0, 32_000);
  client.send(pcm);
  client.end();
  expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm) });
  expect(await client.closed()).toBe(1_000);
});

test('what a client says of itself counts for nothing', async () => {
  const claims = [
    'X-Forwarded-For: 203.0.113.9',
    'X-Forwarded-Host: elsewhere.example',
    'X-Forwarded-Proto: http',
  ];
  const reference = await curl('/api-reference.md', ...claims.flatMap((claim) => ['-H', claim]));
  expect(reference).toContain(`The address of this service is \`https://${host}\``);
});

test('the limit refuses recordings alone, as busy with a Retry-After', async () => {
  const statuses = async (path: string): Promise<string[]> => {
    const urls = Array.from({ length: 15 }, () => `https://${host}${path}`);
    const each = [
      '--parallel',
      '--write-out',
      '%{http_code} %header{retry-after}\n',
      '--output',
      '/dev/null',
    ];
    const said = await curl(path, '--request', 'POST', ...urls.flatMap((url) => [...each, url]), ...each);
    return said.trim().split('\n').sort();
  };
  // Without a token: what is not held up is 401.
  const recordings = await statuses('/v1/audio/transcriptions');
  expect(new Set(recordings.map((line) => line.trim()))).toEqual(new Set(['401', '429 2']));
  expect(new Set((await statuses('/readyz')).map((line) => line.trim()))).toEqual(new Set(['405']));
});

test('nginx waits longer for an answer than the service takes to give up', () => {
  const [, seconds] = /proxy_read_timeout (\d+)s;/.exec(CONFIG) ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(UPLOAD_DEADLINE_MS + 10_000);
});
