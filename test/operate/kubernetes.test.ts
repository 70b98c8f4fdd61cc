import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readApiConfig, readInferenceConfig } from '../../common/config/config.ts';
import { packageRoot } from '../../common/process/package-root.ts';
import { freePort } from '../../launch/supervisor/ports.ts';
import { wavFile } from '../support/audio/wav.ts';
import { AUTHORIZED, openStream, TOKEN, upload } from '../support/service/api.ts';
import { scriptedPcm, scriptedText } from '../support/service/scripted-recognizer.ts';
import { TestService } from '../support/service/service.ts';
import { temporaryFolder } from '../support/tools/tool.ts';
import {
  containersOf,
  hasKubectl,
  installValidator,
  kustomize,
  read,
  VERSIONS,
  validate,
} from './kubernetes-files.ts';

const kustomization: {
  resources: string[];
  images: { name: string; newTag: string }[];
  configMapGenerator: { name: string; literals?: string[] }[];
} = parse(read('kubernetes/kustomization.yaml'));
const RESOURCES = kustomization.resources.map((file) => `kubernetes/${file}`);

describe('the schemas of the oldest and the newest Kubernetes', () => {
  beforeAll(installValidator, 300_000);
  const built = temporaryFolder();
  afterAll(() => built.remove());

  test.each(VERSIONS)('of %s fit each file', async (version) => {
    const said = await validate(version, RESOURCES);
    const documents = RESOURCES.flatMap((file) => parseAllDocuments(read(file)));
    expect(said.match(/ passed for resource /g)).toHaveLength(documents.length);
    expect(said).not.toContain('WARN');
  });

  test.skipIf(!hasKubectl)('fit what kustomize makes of them, where kubectl is there', async () => {
    const text = await kustomize('kubernetes');
    const file = join(built.path, 'built.yaml');
    writeFileSync(file, text);
    expect(await validate('1.37.0', [file])).not.toMatch(/WARN|ERROR/);
    const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8'));
    for (const { name } of kustomization.images) expect(text).toContain(`image: ${name}:${version}`);
  });
});

describe('the pods', () => {
  const literals = kustomization.configMapGenerator.find(({ name }) => name === 'asr')?.literals ?? [];
  const shared = Object.fromEntries(literals.map((literal) => literal.split(/=(.*)/s).slice(0, 2)));
  const all = ['api', 'inference', 'redis'].flatMap((name) => containersOf(`kubernetes/${name}.yaml`));

  test('give each process settings that it takes, and the token by reference', () => {
    const env = all.find(({ name }) => name === 'api')?.env ?? [];
    const own = Object.fromEntries(env.map(({ name, value = TOKEN }) => [name, value]));
    expect(readApiConfig({ ...shared, ...own })).toMatchObject({
      host: '127.0.0.1',
      port: 8_088,
      apiToken: TOKEN,
    });
    expect(env.find(({ name }) => name === 'ASR_API_TOKEN')).toEqual({
      name: 'ASR_API_TOKEN',
      valueFrom: { secretKeyRef: { name: 'asr', key: 'api-token' } },
    });
    const inference = all.find(({ name }) => name === 'inference');
    const ownOfInference = Object.fromEntries(inference?.env?.map(({ name, value }) => [name, value]) ?? []);
    expect(readInferenceConfig({ ...shared, ...ownOfInference })).toMatchObject({
      model: 'bundled',
      // The probe's alone.
      admin: { host: '127.0.0.1', port: 9_465 },
    });
  });

  test('write no disk and are not root', () => {
    expect(all).toHaveLength(4);
    const securityContext = {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    };
    for (const container of all) expect(container).toMatchObject({ securityContext });
  });
});

describe('the proxy in the pod of the API', () => {
  const folder = temporaryFolder();
  let service: TestService;
  let origin: string;
  let haproxy: ReturnType<typeof spawn>;

  beforeAll(async () => {
    service = await TestService.start({ env: { ASR_PUBLIC_BASE_URL: 'https://asr.example.com' } });
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    const config = read('kubernetes/haproxy.cfg')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace('bind :8081', `bind 127.0.0.1:${await freePort()}`)
      .replace('127.0.0.1:8088', new URL(service.api.origin).host);
    writeFileSync(join(folder.path, 'haproxy.cfg'), config);
    haproxy = spawn('haproxy', ['-db', '-f', join(folder.path, 'haproxy.cfg')], { stdio: 'ignore' });
    await vi.waitFor(async () => expect((await fetch(`${origin}/healthz`)).status).toBe(200), 10_000);
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  test('makes every client one of this machine', async () => {
    const pcm = scriptedPcm(1);
    const headers = { ...AUTHORIZED, 'x-forwarded-for': '203.0.113.9' };
    expect(await upload(origin, wavFile(pcm), headers)).toMatchObject({
      status: 200,
      body: { text: scriptedText(pcm) },
    });
    const reference = await (await fetch(`${origin}/api-reference.md`)).text();
    expect(reference).toContain('The address of this service is `https://asr.example.com`');
  });

  test('lets an open stream end well when its pod is stopped', async () => {
    const client = await openStream(`${origin.replace('http', 'ws')}/ws/asr`);
    const ended = once(haproxy, 'exit');
    haproxy.kill('SIGUSR1');
    await vi.waitFor(() => expect(fetch(`${origin}/healthz`)).rejects.toThrow(), 10_000);
    const pcm = scriptedPcm(1);
    client.send(pcm);
    client.end();
    expect(await client.message('final')).toMatchObject({ text: scriptedText(pcm) });
    expect(await ended).toEqual([0, null]);
  });
});
