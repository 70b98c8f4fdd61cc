import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';
import { fileFolder } from '../../support/machine/folders.ts';

const run = promisify(execFile);
const root = packageRoot();

/**
 * A project of somebody else, in which npm has installed the packed client; without a registry, so that `ws`
 * comes from a file, too.
 */
const project = fileFolder();
let installed: string;

beforeAll(async () => {
  const manifest = '{"name":"consumer","version":"1.0.0","type":"module","private":true}';
  writeFileSync(join(project, 'package.json'), manifest);
  // Without scripts: the build is there already, and other tests run from it.
  const pack = ['pack', '--ignore-scripts', '--pack-destination', project];
  await Promise.all([
    run('npm', [...pack, '--workspace', 'chinese-asr-client'], { cwd: root }),
    run('npm', [...pack, './node_modules/ws'], { cwd: root }),
  ]);
  const tarballs = readdirSync(project).filter((name) => name.endsWith('.tgz'));
  await run('npm', ['install', '--offline', ...tarballs.map((name) => `./${name}`)], { cwd: project });
  installed = join(project, 'node_modules/chinese-asr-client');
});

test('the client brings ws and nothing else; its licence and its README are in it, its tests and its sources are not', () => {
  const modules = readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.'));
  expect(modules).toEqual(['chinese-asr-client', 'ws']);
  expect(readdirSync(installed).sort()).toEqual(['README.md', 'asr-client.mjs', 'dist', 'package.json']);
  expect(readFileSync(join(installed, 'dist/LICENSE'), 'utf8')).toContain('Apache License');
});

test('the command and the module run', async () => {
  const { stdout: version } = await run(join(project, 'node_modules/.bin/asr-client'), ['--version']);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(version).toBe(`${manifest.version}\n`);
  const program = `
    import { AsrClient, AsrError } from 'chinese-asr-client';
    const client = new AsrClient({ url: 'http://127.0.0.1:9', apiToken: 'x' });
    const error = await client.transcribe(new Int16Array(240001)).catch((reason) => reason);
    console.log(error instanceof AsrError, error.code, typeof client.stream);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: project });
  expect(stdout).toBe('true audio_too_long function\n');
});

test('for a browser, the module is one file that imports nothing', async () => {
  const program = "console.log(import.meta.resolve('chinese-asr-client'))";
  const args = ['--conditions=browser', '--input-type=module', '-e', program];
  const { stdout: resolved } = await run(process.execPath, args, { cwd: project });
  expect(resolved).toContain('/dist/browser.js');
  const module = readFileSync(join(installed, 'dist/browser.js'), 'utf8');
  expect(module).not.toMatch(/^\s*import\b|\bimport\(|\bfrom\s*['"]/m);
  // Bundlers look for the map, which no tarball has, and warn of each file.
  expect(module).not.toContain('sourceMappingURL');
});

test.for([
  { module: 'nodenext', moduleResolution: 'nodenext', customConditions: [] },
  { module: 'esnext', moduleResolution: 'bundler', customConditions: ['browser'] },
])(
  'a strict TypeScript project compiles against it ($moduleResolution $customConditions)',
  async (resolution) => {
    const source = `
    import { AsrClient, AsrError, type ServiceErrorCode, type StreamFinal } from 'chinese-asr-client';
    export async function dictate(audio: AsyncIterable<Int16Array>, signal: AbortSignal): Promise<StreamFinal> {
      const session = new AsrClient({ url: 'https://asr.example', apiToken: 't' }).stream({ audio, signal });
      for await (const { revision, text } of session) console.log(revision.toFixed(), text.trim());
      try {
        return await session.final;
      } catch (error) {
        if (error instanceof AsrError && error.code === 'busy' && error.closeCode === 1008) throw error.cause;
        throw error;
      }
    }
    // What the caller of the caller may leave out.
    export const passedOn = (client: AsrClient, signal?: AbortSignal, timeoutMs?: number, attempts?: number) => [
      client.ready({ signal, timeoutMs }),
      client.transcribe(new Uint8Array(), { signal, timeoutMs, retry: { attempts, onRetry: undefined } }),
      client.stream({ audio: undefined, signal, readyTimeoutMs: timeoutMs, finalTimeoutMs: timeoutMs }),
    ];
    export const busy: ServiceErrorCode = 'busy';
    // @ts-expect-error there is no such code
    export const never = (error: AsrError) => error.code === 'sleepy';`;
    const folder = mkdtempSync(join(project, 'source-'));
    writeFileSync(join(folder, 'use.ts'), source);
    const compilerOptions = {
      ...resolution,
      target: 'es2022',
      lib: ['es2023', 'dom'],
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      // Of a type that stands outside the package, the compiler then says that it is not there.
      skipLibCheck: false,
      noEmit: true,
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['use.ts'] }));
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout } = await run(process.execPath, [tsc, '-p', folder]).catch(
      (error: { stdout: string }) => error,
    );
    expect(stdout).toBe('');
  },
);

test('the types are plain enough for every TypeScript 5: its arrays have no parameter before 5.7', () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const types = readFileSync(file, 'utf8');
    expect(types, file).not.toMatch(/\b(?:Uint8|Int16|Float32)Array</);
    for (const [, specifier = ''] of types.matchAll(/from ['"]([^'"]+)['"]/g))
      visit(join(file, '..', specifier.replace(/\.ts$/, '.d.ts')));
  };
  visit(join(installed, 'dist/node.d.ts'));
  visit(join(installed, 'dist/browser.d.ts'));
  expect(seen.size).toBeGreaterThan(10);
});

test('the server’s package holds what its programs need, and neither tests nor the client', async () => {
  const args = ['pack', '--ignore-scripts', '--dry-run', '--json'];
  const { stdout } = await run('npm', args, { cwd: root, maxBuffer: 10 * 1024 * 1024 });
  const [{ files }]: [{ files: { path: string; size: number }[] }] = JSON.parse(stdout);
  const sizes = new Map(files.map(({ path, size }) => [path, size]));
  for (const needed of [
    'common/slot/acquire.lua',
    'api/docs/reference/api-reference.md',
    'api/docs/reference/api-reference.zh-CN.md',
    'page/index.html',
    'models/bundled/encoder.int8.onnx',
    'models/bundled/t2s.tsv',
    'models/bundled/LICENSE',
    'models/bundled/language/chinese.lm.gz',
    'models/bundled/language/pack.py',
    'models/bundled/language/LICENSE',
    'dist/api/main.js',
    'dist/inference/main.js',
    'dist/page/main.js',
  ])
    expect(sizes.get(needed), needed).toBeGreaterThan(0);
  const foreign = [...sizes.keys()].filter((path) => /^dist\/(test|client)\//.test(path));
  expect(foreign).toEqual([]);
});
