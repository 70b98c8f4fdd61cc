import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, statfs, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { acquireLock } from '../../../models/lock.ts';
import { ArchiveServer, whileConnected } from './archive-server.ts';
import { archives, expectWhole, type PullOptions, setUpPull } from './pulling.ts';
import { sha256, TOP } from './small-model.ts';

/** The way round whatever keeps the archive away. */
const BY_HAND = `; on a machine without internet, carry this file here and run: npm run models -- pull small --from ${TOP}.tar.bz2`;

let archive: Buffer;
let other: Buffer;
beforeAll(async () => {
  ({ archive, other } = await archives());
});
const setUp = (options?: PullOptions) => setUpPull(archive, options);

describe('pulling a model over a real connection', () => {
  it('downloads, verifies and unpacks; a second pull asks for nothing', async () => {
    const { server, folders, screen, entry, paths, pull } = await setUp();
    expect(await pull()).toBe('pulled');
    await expectWhole(folders, entry);
    expect(server.requests).toEqual([{ path: `/${TOP}.tar.bz2`, range: undefined, ifRange: undefined }]);
    expect(screen.text).toMatch(/small: .* of 1\d\d\.\d KiB \(100 %\).*\n.*small, unpacking: .*\(100 %\)/s);
    expect(JSON.parse(await readFile(paths.receipt, 'utf8'))).toMatchObject({
      id: 'small',
      url: `${server.url}/${TOP}.tar.bz2`,
      archiveSha256: sha256(archive),
    });
    expect(await pull()).toBe('already there');
    expect(server.requests).toHaveLength(1);
  });

  it('reports a slow link as it goes', async () => {
    const { server, folders, screen, entry, stored, pull } = await setUp();
    const drip = async (response: ServerResponse): Promise<void> => {
      let sent = 0;
      for (; sent + 10_000 < archive.length; sent += 10_000) {
        response.write(archive.subarray(sent, sent + 10_000));
        // One piece after the other, however slow this machine is.
        await stored(sent + 10_000);
      }
      // Behind the last one the client is done, and its part file gone.
      response.end(archive.subarray(sent));
    };
    server.script.push((_request, response) => {
      response.writeHead(200, { 'content-length': archive.length });
      void whileConnected(response, drip(response));
    });
    await pull();
    await expectWhole(folders, entry);
    const shown = [...screen.text.matchAll(/^small: .*\((\d+) %\)/gm)].map((match) => Number(match[1]));
    expect(shown.length).toBeGreaterThan(8);
    expect(shown).toEqual([...shown].sort((a, b) => a - b));
    expect(screen.text).toMatch(/^small: .*\(\d+ %\), [\d.]+ [KM]iB\/s, \d+ s left$/m);
  });

  it('leaves a terminal at the beginning of a line', async () => {
    const { server, screen, stored, pull } = await setUp();
    Object.assign(screen, { isTerminal: true });
    server.script.push(server.breakAt(40_000, stored));
    await pull();
    expect(screen.text).toMatch(
      /small: [^\n]*\nthe connection broke[^\n]*\n[^\n]*small: [^\n]*\(100 %\)[^\n]*\n[^\n]*small, unpacking: [^\n]*\n$/,
    );
  });

  it('clears what a pull left that ended between its last steps', async () => {
    const { folders, entry, paths, pull } = await setUp();
    for (const left of [paths.model, paths.discarded]) {
      await mkdir(left, { recursive: true });
      await writeFile(join(left, 'model.onnx'), '');
    }
    await pull();
    await expectWhole(folders, entry);
  });

  it('clears what a pull left that was killed behind its last rename, unless another one is at it', async () => {
    const { server, folders, entry, paths, pull } = await setUp();
    await pull();
    await mkdir(paths.discarded);
    await writeFile(join(paths.discarded, 'old.onnx'), '');
    await writeFile(paths.archive, archive);
    const other = await acquireLock(paths.lock);
    expect(await pull()).toBe('already there');
    expect(existsSync(paths.archive)).toBe(true);
    await other.release();
    expect(await pull()).toBe('already there');
    await expectWhole(folders, entry);
    expect(server.requests).toHaveLength(1);
  });

  it('replaces a model that came from an older archive', async () => {
    const { folders, entry, paths, pull } = await setUp();
    await mkdir(paths.model, { recursive: true });
    await writeFile(join(paths.model, 'old.onnx'), '');
    await writeFile(
      paths.receipt,
      JSON.stringify({ id: 'small', url: '', archiveSha256: 'old', pulledAt: '', files: [] }),
    );
    await pull();
    await expectWhole(folders, entry);
  });

  it('refuses a wrong hash and keeps nothing of it', async () => {
    const { server, folders, refusal } = await setUp({ content: other });
    expect(await refusal()).toBe(
      `${server.url}/${TOP}.tar.bz2: ${other.length} bytes with sha256 ${sha256(other)}, expected ${archive.length} bytes with ${sha256(archive)}. ` +
        `It was deleted. If ASR_MODEL_MIRROR is set, try without it${BY_HAND}`,
    );
    expect(server.requests).toHaveLength(1);
    expect(await readdir(folders.downloaded)).toEqual([]);
  });

  it('does not ask twice for what is not there', async () => {
    const { server, refusal } = await setUp();
    server.script.push(server.status(404));
    expect(await refusal()).toBe(
      `${server.url}/${TOP}.tar.bz2: HTTP 404 "Not Found". If ASR_MODEL_MIRROR is set, check that it holds this file${BY_HAND}`,
    );
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['refuses', () => '404 None\u009b31m\u001b[2J', /HTTP 404 "None\\u\{9b\}31m/],
    [
      'answers with a range',
      (byte: number) => `206 OK\r\nContent-Range: bytes ${byte}\u009b31m`,
      /got "bytes 40000.*\\u\{9b\}31m"/,
    ],
  ])('keeps the terminal out of the words of a server that %s', async (_, head, expected) => {
    const { server, screen, stored, pull } = await setUp();
    server.script.push(server.breakAt(40_000, stored), ({ socket }) => {
      socket.end(`HTTP/1.1 ${head(40_000)}\r\nContent-Length: 0\r\n\r\n`);
    });
    const failure = await pull().catch((error: Error) => error.message);
    const said = screen.text + failure;
    expect(said).toMatch(expected);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(said).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  it('tries a busy server again, and gives up after the last delay', async () => {
    const { server, folders, entry, pull } = await setUp();
    server.script.push(...[503, 429, 500, 408].map((code) => server.status(code)));
    await pull({ retryDelaysMs: [0, 0, 0, 0] });
    await expectWhole(folders, entry);

    const second = await setUp();
    second.server.script.push(...[1, 2, 3, 4].map(() => second.server.status(502)));
    expect(await second.refusal()).toMatch(
      /: HTTP 502; gave up after 3 tries at 0 B of 1\d\d\.\d KiB\. Run the same command again/,
    );
    expect(second.server.requests).toHaveLength(3);
  });

  it('does not take an empty file for one that is here already', async () => {
    const { server, refusal } = await setUp({ content: Buffer.alloc(0) });
    expect(await refusal()).toMatch(
      /: the server has no bytes from 0 on; gave up after 3 tries at 0 B of 1\d\d\.\d KiB\./,
    );
    expect(server.requests).toHaveLength(3);
  });

  it('says what is wrong with the connection', async () => {
    const { server, refusal } = await setUp();
    const dead = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => dead.once('listening', resolve));
    const { port } = dead.address() as AddressInfo;
    await new Promise((resolve) => dead.close(resolve));
    const refused = await refusal({ mirror: `http://127.0.0.1:${port}` });
    expect(refused).toMatch(/cannot reach it \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)/);
    expect(refused.endsWith(BY_HAND)).toBe(true);
    expect((await refusal({ httpProxy: `http://127.0.0.1:${port}` })).endsWith(BY_HAND)).toBe(true);
    expect(await refusal({ httpProxy: 'no address' })).toMatch(
      /^HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a proxy address/,
    );
    expect(server.requests).toEqual([]);
  });

  it("refuses a mirror's page instead of the file, and a file without end", async () => {
    const page = await setUp({ content: Buffer.from('<html>Welcome</html>') });
    expect(await page.refusal()).toMatch(
      /is a file of 20 bytes, expected 1\d+: not the model's archive.*; on a machine without internet, /,
    );
    expect(existsSync(page.paths.part)).toBe(false);

    const endless = await setUp();
    endless.server.script.push((_request, response) => {
      response.writeHead(200);
      const pour = (): void => {
        while (response.writable && response.write(archive.subarray(0, 20_000))) {
          // until the buffers are full
        }
      };
      response.on('drain', pour);
      pour();
    });
    expect(await endless.refusal()).toMatch(/sends more than the expected 1\d+ bytes/);
    expect((await stat(endless.paths.part)).size).toBeLessThan(archive.length * 2);
    // What was wrong does not stay in the way.
    await endless.pull();
    await expectWhole(endless.folders, endless.entry);
  });

  it('asks for space before it downloads', async () => {
    const { server, folders, refusal } = await setUp({ entry: { archiveBytes: 1e15 } });
    expect(await refusal()).toMatch(
      /has [\d.]+ MiB free, small needs about 3147125244\.1 MiB while it is unpacked: free some space/,
    );
    expect(server.requests).toEqual([]);
    expect(await readdir(folders.downloaded)).toEqual([]);
  });

  it('asks for no space for what is there already', async () => {
    const { bavail, bsize } = await statfs(tmpdir());
    const archiveBytes = Math.floor((bavail * bsize) / 3);
    const { server, folders, paths, refusal } = await setUp({ entry: { archiveBytes } });
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, '');
    // A file of holes takes no space itself.
    await truncate(paths.part, Math.floor(archiveBytes / 2));
    server.script.push(server.status(404));
    expect(await refusal()).toContain('HTTP 404');
  });

  it('stops when another process has taken its lock over', async () => {
    const { server, paths, stored, refusal } = await setUp();
    // The lock's alone: it is looked at every five seconds.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    server.script.push(server.stallAt(50_000));
    const refused = refusal({ stallTimeoutMs: 60_000 });
    await stored(50_000);
    await writeFile(paths.lock, '{}');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await refused).toContain(`another process took over the lock ${paths.lock}`);
  });

  it.skipIf(!existsSync('/dev/full'))(
    'says that the disk is full and goes on when it is not any more',
    async () => {
      const { server, folders, entry, paths, pull, refusal } = await setUp();
      await mkdir(folders.downloaded, { recursive: true });
      await symlink('/dev/full', paths.part);
      expect(await refusal()).toBe(
        `no space left on the disk of ${paths.part}: free some and run the same command again; what is there already is kept`,
      );
      expect(server.requests).toHaveLength(1);
      expect(await readdir(folders.downloaded)).not.toContain('small.lock');
      await rm(paths.part);
      await pull();
      await expectWhole(folders, entry);
    },
  );

  it('leaves nothing half unpacked of an archive that is another model', async () => {
    const { folders, refusal } = await setUp({ entry: { family: 'zipformer2-ctc' } });
    expect(await refusal()).toContain('the archive does not hold this model: expected one model');
    expect(await readdir(folders.downloaded)).toEqual(['small.tar.bz2']);
  });

  it('follows a redirect, also in the middle', async () => {
    const { server, folders, entry, stored, pull } = await setUp();
    const storage = new ArchiveServer(archive, '"storage"');
    await storage.listen();
    onTestFinished(() => storage.close());
    const redirect = (_request: unknown, response: ServerResponse): void => {
      response.writeHead(302, { location: `${storage.url}/file?signature=1` }).end();
    };
    server.script.push(redirect, redirect);
    storage.script.push(storage.breakAt(70_000, stored));
    await pull();
    await expectWhole(folders, entry);
    expect(storage.requests).toEqual([
      { path: '/file?signature=1', range: undefined, ifRange: undefined },
      { path: '/file?signature=1', range: 'bytes=70000-', ifRange: '"storage"' },
    ]);
  });

  it('goes through the proxy, except where NO_PROXY says not to', async () => {
    const { server, folders, entry, paths, pull } = await setUp();
    const asked: string[] = [];
    const proxy = createServer((request, response) => {
      if (!request.url?.startsWith('http://')) {
        // Meant for a server that had this port before: a proxy is asked for whole addresses.
        response.writeHead(400).end();
        return;
      }
      asked.push(request.url);
      request.pipe(
        httpRequest(request.url, { headers: request.headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(response);
        }),
      );
    });
    // As Squid has it: no tunnel to a port that is not for HTTPS.
    proxy.on('connect', (_request, socket) => {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
    });
    proxy.listen(0, '127.0.0.1');
    await new Promise((resolve) => proxy.once('listening', resolve));
    onTestFinished(async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    });
    const httpProxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await pull({ httpProxy });
    await expectWhole(folders, entry);
    expect(asked).toEqual([`${server.url}/${TOP}.tar.bz2`]);

    await rm(paths.model, { recursive: true });
    await pull({ httpProxy, noProxy: 'localhost,127.0.0.1' });
    await expectWhole(folders, entry);
    expect(asked).toHaveLength(1);
  });
});
