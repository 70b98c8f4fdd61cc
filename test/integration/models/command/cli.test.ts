import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { packageRoot } from '../../../../common/process/package-root.ts';
import { storePaths } from '../../../../models/store/store.ts';
import { ArchiveServer } from '../download/archive-server.ts';
import { ARCHIVE, entryFor, temporaryFolders } from '../small-model.ts';
import { CLI, SMALL_CLI, start } from './command-line.ts';

describe('npm run models, the real catalogue', () => {
  const models = (args: readonly string[]) => start(CLI, args).finished;

  it('lists the models with what is known of them', async () => {
    const { code, stdout, stderr } = await models(['list']);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^bundled +here +51\.4 MiB +whisper, re-decoding every 500 ms$/m);
    expect(stdout).toMatch(
      /^x-asr-480ms \(recommended\) .* 127\.7 MiB +zipformer2-transducer, streaming every 480 ms$/m,
    );
    expect(stdout).toContain('npm run models -- pull <id>');
  });

  it('names the ids when one is wrong', async () => {
    const { code, stderr } = await models(['pull', '../../x']);
    expect(code).toBe(64);
    expect(stderr).toMatch(
      /^there is no model "\.\.\/\.\.\/x"; there are: x-asr-480ms, .*, whisper-small\n$/,
    );
  });

  it('names the one that was probably meant, and a setting that is none', async () => {
    const { code, stderr } = await start(CLI, ['pull', 'x-asr-480m'], { ASR_MODEL_MIROR: 'http://127.0.0.1' })
      .finished;
    expect(code).toBe(64);
    expect(stderr).toMatch(
      /^ASR_MODEL_MIROR is no setting and changes nothing: did you mean ASR_MODEL_MIRROR\?\nthere is no model "x-asr-480m" \(did you mean x-asr-480ms\?\); there are: /,
    );
  });

  it('says where the bundled model is', async () => {
    const bundled = join(packageRoot(), 'models', 'bundled');
    expect(await models(['path', 'bundled'])).toEqual({ code: 0, stdout: `${bundled}\n`, stderr: '' });
  });

  it('refuses what a mirror has instead of the archive', async () => {
    const server = new ArchiveServer(Buffer.from('<html></html>'));
    await server.listen();
    onTestFinished(() => server.close());
    // Not into the folder of this machine, which may have the model, or a part of it.
    const root = dirname(dirname((await temporaryFolders()).downloaded));
    const { code, stderr } = await start(
      SMALL_CLI,
      [JSON.stringify({ root }), 'pull', 'zipformer-small-ctc'],
      { ASR_MODEL_MIRROR: `${server.url}/mirror/` },
    ).finished;
    expect(stderr).toMatch(
      /zipformer-small-ctc-zh-int8-2025-04-01\.tar\.bz2 is a file of 13 bytes, expected about 21264113/,
    );
    expect(code).toBe(1);
    expect(server.requests[0]?.path).toMatch(/^\/mirror\/sherpa-onnx-streaming-zipformer-small-ctc/);
  });
});

describe('npm run models, a small model', () => {
  async function setUp() {
    const server = new ArchiveServer(ARCHIVE);
    await server.listen();
    onTestFinished(() => server.close());
    const folders = await temporaryFolders();
    const root = dirname(dirname(folders.downloaded));
    const paths = storePaths(folders, 'small');
    const settings = JSON.stringify({
      root,
      catalogue: [entryFor()],
      timing: { stallTimeoutMs: 10_000, retryDelaysMs: [] },
    });
    const run = (...args: string[]) =>
      start(SMALL_CLI, [settings, ...args], {
        ASR_MODEL_MIRROR: server.url,
      });
    const stored = (bytes: number): Promise<void> =>
      vi.waitFor(async () => expect((await stat(paths.part)).size).toBe(bytes), {
        timeout: 10_000,
        interval: 10,
      });
    return { server, folders, paths, run, stored };
  }

  it('goes from pull to remove', async () => {
    const { folders, paths, run } = await setUp();
    expect(await run('path', 'small').finished).toEqual({
      code: 1,
      stdout: '',
      stderr: 'the model small is not downloaded: run `npm run models -- pull small`\n',
    });
    expect(await run('remove', 'small').finished).toMatchObject({
      code: 0,
      stdout: 'small is not here: nothing to remove\n',
    });

    const pulled = await run('pull', 'small').finished;
    expect(pulled).toMatchObject({
      code: 0,
      stdout: `small is in ${paths.model}. Use it: ASR_MODEL=small npm start\n`,
    });
    expect(pulled.stderr).toMatch(/^small: .*\(100 %\)/m);
    expect(await run('path', 'small').finished).toEqual({ code: 0, stdout: `${paths.model}\n`, stderr: '' });
    expect((await run('list').finished).stdout).toMatch(/^small +here /m);
    expect(await run('pull', 'small').finished).toMatchObject({
      code: 0,
      stdout: `small is in ${paths.model} already. To download it again: npm run models -- remove small, then pull\n`,
    });

    await writeFile(paths.receipt, '{');
    const listed = await run('list').finished;
    expect(listed.code).toBe(1);
    expect(listed.stderr).toBe(
      `${paths.receipt} is damaged: \`npm run models -- remove small\`, then \`npm run models -- pull small\`\n`,
    );
    expect(await run('remove', 'small').finished).toMatchObject({ code: 0, stdout: 'small is removed\n' });
    expect(await readdir(folders.downloaded)).toEqual([]);
  });

  it('says so of a model that came from an older archive', async () => {
    const { paths, run } = await setUp();
    await mkdir(paths.model, { recursive: true });
    const receipt = { url: '', archiveSha256: 'old', pulledAt: '' };
    await writeFile(paths.receipt, JSON.stringify(receipt));
    expect((await run('list').finished).stdout).toMatch(/^small +an older one /m);
  });

  it('removes what pulls that were broken off or killed have left, beside a model or alone', async () => {
    const { folders, paths, run } = await setUp();
    for (const left of [paths.model, paths.unpacking]) {
      await mkdir(left, { recursive: true });
      await writeFile(join(left, 'model.onnx'), '');
    }
    expect(await run('remove', 'small').finished).toMatchObject({ code: 0, stdout: 'small is removed\n' });
    expect(await readdir(folders.downloaded)).toEqual([]);
    await writeFile(paths.part, ARCHIVE.subarray(0, 50_000));
    expect(await run('remove', 'small').finished).toMatchObject({ code: 0, stdout: 'small is removed\n' });
    expect(await readdir(folders.downloaded)).toEqual([]);
    expect((await run('list').finished).stdout).toMatch(/^small +not here /m);
  });

  it.each([
    ['Ctrl-C', 'SIGINT', 130],
    ['SIGTERM', 'SIGTERM', 143],
  ] as const)('stops on %s and goes on from there', async (_, signal, exitCode) => {
    const { server, folders, run, stored } = await setUp();
    server.script.push(server.stallAt(50_000));
    const { child, finished } = run('pull', 'small');
    await stored(50_000);
    child.kill(signal);
    expect(await finished).toMatchObject({
      code: exitCode,
      stderr: expect.stringMatching(/\nstopped; the same command goes on from here\n$/),
    });
    expect(await readdir(folders.downloaded)).not.toContain('small.lock');
    expect((await run('list').finished).stdout).toMatch(/^small +4\d % downloaded /m);
    expect(await run('pull', 'small').finished).toMatchObject({ code: 0 });
    expect(server.requests[1]).toMatchObject({ range: 'bytes=50000-' });
  });

  it.each([
    'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ',
    'HTTP/1.0 200 OK\r\nContent-Length: ',
  ])('takes the archive from a server that closes its connection behind it: %j', async (head) => {
    const { server, paths, run } = await setUp();
    server.script.push(({ socket }) => {
      socket.write(`${head}${ARCHIVE.length}\r\n\r\n`);
      socket.end(ARCHIVE);
    });
    expect(await run('pull', 'small').finished).toMatchObject({
      code: 0,
      stdout: `small is in ${paths.model}. Use it: ASR_MODEL=small npm start\n`,
    });
    expect(server.requests).toHaveLength(1);
  });

  it('refuses a second pull beside the first, and outlives a killed one', async () => {
    const { server, folders, run, stored } = await setUp();
    server.script.push(server.stallAt(30_000));
    const { child, finished } = run('pull', 'small');
    await stored(30_000);
    for (const command of ['pull', 'remove']) {
      const second = await run(command, 'small').finished;
      expect(second.code).toBe(1);
      expect(second.stderr).toMatch(`process ${child.pid}@`);
      expect(second.stderr).toContain(' is working on this model: wait until it has finished');
    }
    child.kill('SIGKILL');
    await finished;
    expect(await readdir(folders.downloaded)).toContain('small.lock');
    expect(await run('pull', 'small').finished).toMatchObject({ code: 0 });
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]).toMatchObject({ range: 'bytes=30000-' });
  });
});
