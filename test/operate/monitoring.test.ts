import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packageRoot } from '../../common/process/package-root.ts';
import { fixture } from '../support/audio/fixtures.ts';
import { eventually } from '../support/machine/eventually.ts';
import { openStream, upload } from '../support/service/api.ts';
import { sendPaced, untilReady } from '../support/service/real-service.ts';
import { MonitoredService } from './monitored-service.ts';
import { ADMIN_TOKEN, RULES } from './prometheus.ts';

const run = promisify(execFile);
const DEPLOY = join(packageRoot(), 'deploy');
/** For rates there must be two scrapes; the files say every 15 s. */
const FACTOR = 15;

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

const service = await MonitoredService.start(FACTOR);
const { prometheus } = service;

beforeAll(async () => {
  const { origin, wsUrl } = await service.addApi();
  await service.addInference();
  await untilReady(origin);
  await eventually(async () => expect(await prometheus.values('up == 1')).toEqual([1, 1]));
  const { wav, pcm } = fixture('e00');
  // Two at a time: one of them is busy.
  await Promise.all([upload(origin, wav), upload(origin, wav)]);
  const client = await openStream(wsUrl);
  await sendPaced(client, pcm, 3_200, 50);
  client.end();
  await client.message('final');
}, 60_000);

afterAll(() => service.stop());

test.each(panelQueries())('the panel “$title” has data: $expr', async ({ expr }) => {
  await eventually(async () =>
    expect((await prometheus.values(expr)).filter(Number.isFinite)).not.toEqual([]),
  );
});

test('every metric that a panel, a rule or the docs name is one that the service has', async () => {
  const known = new Set((await prometheus.ask('label/__name__/values')) as string[]);
  const named = metricNames(
    [...panelQueries().map(({ expr }) => expr), readFileSync(RULES, 'utf8')].join('\n'),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  const isKnown = (name: string): boolean => known.has(name) || known.has(`${name}_bucket`);
  expect(metricNames(page('monitoring')).filter((name) => !isKnown(name))).toEqual([]);
});

test('every metric of the service is in the docs', async () => {
  const own = ((await prometheus.ask('label/__name__/values')) as string[]).filter((name) =>
    name.startsWith('asr_'),
  );
  const documented = new Set(metricNames(page('monitoring')));
  const families = new Set(own.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  expect([...families].filter((name) => !documented.has(name))).toEqual([]);
});

test.each(['api', 'inference'] as const)(
  'promtool has nothing to say about the names of %s',
  async (name) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const [target = ''] = prometheus.targets[name];
    const text = await (await fetch(`http://${target}/metrics`, { headers })).text();
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

  test('are right by promtool', async () => {
    await run('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', RULES]);
  });

  test('are all in the docs: what each means, how to see it, what to do', () => {
    const rows = page('operations').matchAll(/^\| `(Asr\w+)`(?: \| [^|]+){3} \|$/gm);
    expect(Array.from(rows, ([, name]) => name)).toEqual(names);
  });
});
