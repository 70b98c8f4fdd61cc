import { execFile } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../../common/process/package-root.ts';

const run = promisify(execFile);
const root = packageRoot();

/** A project of somebody else, with the packed package unpacked in its node_modules, and of all dependencies only `ws`. */
let project: string;
let installed: string;

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'asr-consumer-'));
  const modules = join(project, 'node_modules');
  mkdirSync(modules);
  // Without scripts: the build is there already, and other tests run from it.
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', project], { cwd: root });
  const tarball = readdirSync(project).find((name) => name.endsWith('.tgz')) ?? '';
  await run('tar', ['-xzf', join(project, tarball), '-C', modules]);
  installed = join(modules, 'chinese-asr-server');
  await run('mv', [join(modules, 'package'), installed]);
  symlinkSync(join(root, 'node_modules/ws'), join(modules, 'ws'));
  writeFileSync(
    join(project, 'package.json'),
    '{"name":"consumer","version":"1.0.0","type":"module","private":true}',
  );
});
afterAll(() => rmSync(project, { recursive: true }));

test('the command and the module run from the tarball with ws alone', async () => {
  const help = await run(join(installed, 'api/client/asr-client.mjs'), ['--version']);
  const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  expect(help.stdout).toBe(`${version}\n`);
  const program = `
    import { AsrClient, AsrError } from 'chinese-asr-server/client';
    const client = new AsrClient({ url: 'http://127.0.0.1:9', apiToken: 'x' });
    const error = await client.transcribe(new Int16Array(240001)).catch((reason) => reason);
    console.log(error instanceof AsrError, error.code, typeof client.stream);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: project });
  expect(stdout).toBe('true audio_too_long function\n');
});

test('for a browser, the module needs nothing that a browser or the tarball does not have', () => {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const program = readFileSync(file, 'utf8');
    // Bundlers look for the map, which no tarball has, and warn of each file.
    expect(program, file).not.toContain('sourceMappingURL');
    const imports = program.matchAll(/(?:from|import)\s*\(?['"]([^'"]+)['"]/g);
    for (const [, specifier = ''] of imports) {
      expect(specifier, file).toMatch(/^\.\.?\//);
      visit(join(file, '..', specifier));
    }
  };
  visit(join(installed, 'dist/api/client/browser.js'));
  expect(seen.size).toBeGreaterThan(10);
});

test.for([
  { module: 'nodenext', moduleResolution: 'nodenext', customConditions: [] },
  { module: 'esnext', moduleResolution: 'bundler', customConditions: ['browser'] },
])(
  'a strict TypeScript project compiles against it ($moduleResolution $customConditions)',
  async (resolution) => {
    const source = `
    import { AsrClient, AsrError, type StreamFinal } from 'chinese-asr-server/client';
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
  visit(join(installed, 'dist/api/client/node.d.ts'));
  visit(join(installed, 'dist/api/client/browser.d.ts'));
  expect(seen.size).toBeGreaterThan(10);
});

test('the tarball holds what the programs need and no tests', () => {
  for (const needed of [
    'common/slot/acquire.lua',
    'api/docs/reference/api-reference.md',
    'api/page/index.html',
    'models/bundled/encoder.int8.onnx',
    'models/bundled/t2s.tsv',
    'models/bundled/LICENSE',
    'dist/api/main.js',
    'dist/inference/main.js',
  ])
    expect(readFileSync(join(installed, needed)).length, needed).toBeGreaterThan(0);
  expect(readdirSync(join(installed, 'dist'))).not.toContain('test');
});
