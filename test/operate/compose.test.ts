import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { packageRoot } from '../../common/process/package-root.ts';

interface Service {
  readonly mem_limit?: string;
  readonly pids_limit?: number;
  readonly [field: string]: unknown;
}

const read = (file: string): string => readFileSync(join(packageRoot(), file), 'utf8');
const { services }: { services: Record<string, Service> } = parse(read('docker-compose.yml'), {
  merge: true,
});
const NAMES = Object.keys(services);

// test/docker asks the containers themselves; this needs no engine, and sees those of every profile.
test.each(NAMES)('%s cannot fill the disk with its log, and has no capabilities', (name) => {
  expect(services[name]).toMatchObject({
    restart: 'unless-stopped',
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    logging: { driver: 'json-file', options: { 'max-size': '10m', 'max-file': '3' } },
  });
});

test.each(NAMES)('%s has a limit of memory and of processes', (name) => {
  const { mem_limit: memory, pids_limit: pids } = services[name] ?? {};
  expect(memory).toMatch(/^(?:\d+[mg]|\$\{ASR_(?:API|INFERENCE|SERVICE)_MEMORY:-(?:\d+[mg]|0)\})$/);
  expect(pids).toBeGreaterThanOrEqual(512);
});

test('Redis, which is root in its image, has a user that needs no capability', () => {
  expect(services['redis']).toMatchObject({ user: '999:1000', read_only: true });
});

test('each setting that the file reads is in .env.example', () => {
  const settings = new Set(read('docker-compose.yml').match(/(?<=[^$]\$\{)\w+/g));
  const examples = new Set(read('.env.example').match(/^\w+(?==)/gm));
  expect([...settings].filter((name) => !examples.has(name))).toEqual([]);
});

test('one argument names the base of all images, so that one digest pins it', () => {
  const bases = read('Dockerfile').match(/^FROM \S+(?=.*)/gm) ?? [];
  const stages = new Set(read('Dockerfile').match(/(?<= AS )[\w-]+$/gm));
  const outside = bases.map((line) => line.slice(5)).filter((name) => !stages.has(name));
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the Dockerfile's own
  expect(new Set(outside)).toEqual(new Set(['${NODE_IMAGE}']));
});

test('whatever the Dockerfile copies from this folder is in what Docker gets of it', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(([, files = '']) =>
    files.split(' '),
  );
  const included = [...read('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
  expect(copied).toContain('launch/setup/gpu-install.mjs');
  for (const file of copied.filter((file) => file !== '.')) expect(included).toContain(file);
});
