import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { openStream, upload } from '../support/api.ts';
import { eventually } from '../support/eventually.ts';
import { fixture } from '../support/fixtures.ts';
import { sendPaced, startRealService } from '../support/real-service.ts';
import { temporaryFolder } from '../support/tool.ts';

const run = promisify(execFile);
const DEPLOY = join(packageRoot(), 'deploy');
const RULES = join(DEPLOY, 'prometheus', 'rules.yml');
const ADMIN_TOKEN = 'an-admin-token-of-24-chars';
const ADMIN = { ASR_ADMIN_TOKEN: ADMIN_TOKEN, ASR_ADMIN_PORT: '0', ASR_INFERENCE_ADMIN_PORT: '0' };
/** For rates there must be two scrapes; the files say every 15 s. */
const SCRAPE = '1s';

/** Each query of the dashboard, with what Grafana puts into it. */
function panelQueries(): { readonly title: string; readonly expr: string }[] {
  const dashboard: { panels: { title: string; targets?: { expr: string }[] }[] } = JSON.parse(
    readFileSync(join(DEPLOY, 'grafana', 'asr.json'), 'utf8'),
  );
  return dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expr: expr.replaceAll('$__rate_interval', '1m') })),
  );
}

/** The names of metrics in queries, rules or the docs. */
function metricNames(text: string): string[] {
  return [...new Set(text.match(/\b(?:asr|nodejs|process)_\w+/g))].sort();
}

function page(name: string): string {
  return readFileSync(join(packageRoot(), 'docs', `${name}.md`), 'utf8');
}

const folder = temporaryFolder();
const stops: (() => unknown)[] = [folder.remove];
let prometheus: string;
const targets: Record<'api' | 'inference', string> = { api: '', inference: '' };

beforeAll(async () => {
  const service = await startRealService(ADMIN);
  stops.push(() => service.stop());
  const { api, inference, origin, wsUrl } = service;
  const adminOf = (process: typeof api, msg: string) => String(process.logged(msg)[0]?.['adminAddress']);
  await eventually(() => expect(adminOf(api, 'serving')).toMatch(/^http:/));
  targets.api = adminOf(api, 'serving');
  targets.inference = adminOf(inference, 'serving metrics');

  prometheus = `http://127.0.0.1:${await startPrometheus()}`;
  await eventually(async () => expect(await values('up == 1')).toEqual([1, 1]));
  const { wav, pcm } = fixture('e00');
  // Two at a time: one of them is busy.
  await Promise.all([upload(origin, wav), upload(origin, wav)]);
  const client = await openStream(wsUrl);
  await sendPaced(client, pcm, 3_200, 50);
  client.end();
  await client.message('final');
}, 60_000);

afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

/** The real file, with the addresses of this test's processes. @returns Prometheus' port */
async function startPrometheus(): Promise<number> {
  const token = join(folder.path, 'token');
  writeFileSync(token, ADMIN_TOKEN);
  let text = readFileSync(join(DEPLOY, 'prometheus', 'prometheus.yml'), 'utf8')
    .replaceAll('/tmp/asr-admin-token', token)
    .replaceAll('15s', SCRAPE)
    .replace('rules.yml', RULES);
  for (const name of ['api', 'inference'] as const) {
    const found = new RegExp(`dns_sd_configs: \\[\\{ names: \\[${name}\\b.*`);
    expect(text).toMatch(found);
    text = text.replace(found, `static_configs: [{ targets: ["${new URL(targets[name]).host}"] }]`);
  }
  const file = join(folder.path, 'prometheus.yml');
  writeFileSync(file, text);
  await run('promtool', ['check', 'config', file]);
  const port = await freePort();
  const server = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder.path, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  stops.push(async () => {
    server.kill('SIGKILL');
    await once(server, 'exit');
  });
  return port;
}

async function ask(path: string): Promise<unknown> {
  const response = await fetch(`${prometheus}/api/v1/${path}`).catch(() => undefined);
  const answer: { data?: unknown; error?: string } = response ? JSON.parse(await response.text()) : {};
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.data;
}

/** What Prometheus answers to a query now. */
async function values(query: string): Promise<number[]> {
  const data = await ask(`query?query=${encodeURIComponent(query)}`);
  const { result = [] } = { ...(data as { result?: { value: [number, string] }[] } | undefined) };
  return result.map(({ value: [, value] }) => Number(value));
}

test.each(panelQueries())('the panel “$title” has data: $expr', async ({ expr }) => {
  await eventually(async () => expect((await values(expr)).filter(Number.isFinite)).not.toEqual([]));
});

test('every metric that a panel, a rule or the docs name is one that the service has', async () => {
  const known = new Set((await ask('label/__name__/values')) as string[]);
  const named = metricNames(
    [...panelQueries().map(({ expr }) => expr), readFileSync(RULES, 'utf8')].join('\n'),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  const isKnown = (name: string): boolean => known.has(name) || known.has(`${name}_bucket`);
  expect(metricNames(page('monitoring')).filter((name) => !isKnown(name))).toEqual([]);
});

test('every metric of the service is in the docs', async () => {
  const own = ((await ask('label/__name__/values')) as string[]).filter((name) => name.startsWith('asr_'));
  const documented = new Set(metricNames(page('monitoring')));
  const families = new Set(own.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  expect([...families].filter((name) => !documented.has(name))).toEqual([]);
});

test.each(['api', 'inference'] as const)(
  'promtool has nothing to say about the names of %s',
  async (name) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const text = await (await fetch(`${targets[name]}/metrics`, { headers })).text();
    const child = run('promtool', ['check', 'metrics']);
    child.child.stdin?.end(text);
    const said = await child.then(
      ({ stdout, stderr }) => stdout + stderr,
      (error: Error & { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
    expect(said.split('\n').filter((line) => line.startsWith('asr_'))).toEqual([]);
  },
);

describe('the rules', () => {
  const names = [...readFileSync(RULES, 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);

  test('are right, and each alert is raised when it should be', async () => {
    await run('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', RULES]);
    const tests = join(DEPLOY, 'prometheus', 'rules.test.yml');
    await run('promtool', ['test', 'rules', tests]);
    const text = readFileSync(tests, 'utf8');
    for (const name of names)
      expect(text, name).toContain(`alertname: ${name}\n        exp_alerts:\n          - exp_labels`);
  });

  test('are all in the docs, with what to do', () => {
    const rows = page('operations').matchAll(/^\| `(Asr\w+)` \| .+ \| .+ \|$/gm);
    expect(Array.from(rows, ([, name]) => name)).toEqual(names);
  });

  test('raise nothing while this service runs', async () => {
    expect(await values('ALERTS{alertstate="firing"}')).toEqual([]);
    expect(((await ask('rules')) as { groups: unknown[] }).groups).toHaveLength(3);
  });
});
