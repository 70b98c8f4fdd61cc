import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readApiConfig, readInferenceConfig } from '../../common/config/config.ts';
import { TOKEN } from '../support/service/api.ts';
import { temporaryFolder } from '../support/tools/tool.ts';
import {
  type Container,
  containersOf,
  hasKubectl,
  installValidator,
  kustomize,
  read,
  VERSIONS,
  validate,
} from './kubernetes-files.ts';

const FOLDER = 'kubernetes-monitoring';
const JOBS = ['asr-api', 'asr-inference'];
const folder = temporaryFolder();
afterAll(() => folder.remove());

describe('what kustomize makes of the overlay, where kubectl is there', () => {
  const file = join(folder.path, 'built.yaml');
  let containers: Container[] = [];
  let policies: { metadata: { name: string }; spec: unknown }[] = [];

  beforeAll(async () => {
    if (!hasKubectl) return;
    await installValidator();
    const built = await kustomize(FOLDER);
    writeFileSync(file, built);
    const documents = parseAllDocuments(built).map((document) => document.toJS());
    const of = (wanted: string) => documents.filter(({ kind }) => kind === wanted);
    containers = of('Deployment').flatMap(({ spec }) => spec.template.spec.containers);
    policies = of('NetworkPolicy');
  }, 300_000);

  /** The environment of a container, with the token where it comes from a secret. */
  function environment(container: string): Record<string, string> {
    const { env = [] } = containers.find(({ name }) => name === container) ?? {};
    return Object.fromEntries(env.map(({ name, value = TOKEN }) => [name, value]));
  }

  test.skipIf(!hasKubectl).each(VERSIONS)('fits the schemas of %s', async (version) => {
    expect(await validate(version, [file])).not.toMatch(/WARN|ERROR/);
  });

  test.skipIf(!hasKubectl)('opens the port of each process for whoever has the token', () => {
    const shared = { REDIS_URL: 'redis://asr-redis:6379' };
    const open = { host: '0.0.0.0', token: TOKEN };
    const api = readApiConfig({ ...shared, ...environment('api') });
    expect(api).toMatchObject({ admin: { ...open, port: 9_464 }, host: '127.0.0.1' });
    const inference = readInferenceConfig({ ...shared, ...environment('inference') });
    expect(inference).toMatchObject({ admin: { ...open, port: 9_465 } });
    const named = containers.map(({ name, ports }) => [name, ports?.find((port) => port.name === 'metrics')]);
    expect(named.filter(([, port]) => port)).toEqual([
      ['api', { name: 'metrics', containerPort: 9_464 }],
      ['inference', { name: 'metrics', containerPort: 9_465 }],
    ]);
  });

  test.skipIf(!hasKubectl)(
    'lets the namespace of Prometheus in, to these ports, and keeps the other policies',
    () => {
      const names = policies.map(({ metadata }) => metadata.name).sort();
      expect(names).toEqual(['asr-api', 'asr-inference', 'asr-metrics', 'asr-redis']);
      expect(policies.find(({ metadata }) => metadata.name === 'asr-metrics')?.spec).toMatchObject({
        podSelector: {
          matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'In', values: JOBS }],
        },
        ingress: [
          {
            from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
            ports: [{ port: 'metrics' }],
          },
        ],
      });
    },
  );
});

test('Prometheus gives both processes the jobs that the rules name, and leaves every other port out', () => {
  const config = parse(read(`${FOLDER}/prometheus.yml`));
  const [scrape] = config.scrape_configs;
  expect(scrape.kubernetes_sd_configs).toEqual([{ role: 'pod', namespaces: { names: ['asr'] } }]);
  // Debian's promtool knows no Kubernetes: what it would find there is written out instead.
  const pods = [...JOBS, 'asr-redis'].flatMap((name) =>
    containersOf(`kubernetes/${name.replace('asr-', '')}.yaml`).map((container) => [name, container.name]),
  );
  const ports = pods.map(([name, container]) => ({
    targets: [`${container}:1`],
    labels: {
      __meta_kubernetes_pod_container_port_name: ['api', 'inference'].includes(`${container}`)
        ? 'metrics'
        : 'http',
      __meta_kubernetes_pod_label_app_kubernetes_io_name: name,
    },
  }));
  const { kubernetes_sd_configs: _, authorization, ...rest } = scrape;
  expect(authorization).toEqual({ credentials_file: '/etc/asr-admin/token' });
  const file = join(folder.path, 'prometheus.yml');
  writeFileSync(file, JSON.stringify({ scrape_configs: [{ ...rest, static_configs: ports }] }));
  const { stdout } = spawnSync('promtool', ['check', 'service-discovery', '--timeout=3s', file, 'asr'], {
    encoding: 'utf8',
  });
  const kept: { labels: Record<string, string> }[] = JSON.parse(stdout);
  const found = kept.map(({ labels }) => [labels['instance'], labels['job']]);
  expect(found.filter(([instance]) => instance).sort()).toEqual([
    ['api:1', 'asr-api'],
    ['inference:1', 'asr-inference'],
  ]);
});

test('the PodMonitor names the same ports, pods, jobs and secret', () => {
  expect(parse(read(`${FOLDER}/podmonitor.yaml`)).spec).toMatchObject({
    jobLabel: 'app.kubernetes.io/name',
    selector: { matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'In', values: JOBS }] },
    podMetricsEndpoints: [
      { port: 'metrics', authorization: { credentials: { name: 'asr-admin', key: 'token' } } },
    ],
  });
});
