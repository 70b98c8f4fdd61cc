import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createSilentServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ARCHIVE, OTHER, sha256, TOP } from '../small-model.ts';
import { ArchiveServer } from './archive-server.ts';
import { expectWhole, setUpPull } from './pulling.ts';

/** The way round whatever keeps the archive away. */
const BY_HAND = `. On a machine without internet, carry this file here and run: npm run models -- pull small --from ${TOP}.tar.bz2`;

describe('pulling a model over a real connection', () => {
  it('downloads, verifies and unpacks; a second pull asks for nothing', async () => {
    const { server, folders, screen, paths, pull } = await setUpPull();
    expect(await pull()).toBe('pulled');
    await expectWhole(folders);
    expect(server.requests).toEqual([{ path: `/${TOP}.tar.bz2`, range: undefined }]);
    expect(screen.text).toMatch(/small: .* of 1\d\d\.\d KiB \(100 %\).*\n.*small, unpacking: .*\(100 %\)/s);
    expect(JSON.parse(await readFile(paths.receipt, 'utf8'))).toMatchObject({
      url: `${server.url}/${TOP}.tar.bz2`,
      archiveSha256: sha256(ARCHIVE),
    });
    expect(await pull()).toBe('already there');
    expect(server.requests).toHaveLength(1);
  });

  it('leaves a terminal at the beginning of a line', async () => {
    const { server, screen, stored, pull } = await setUpPull();
    Object.assign(screen, { isTerminal: true });
    server.script.push(server.breakAt(40_000, stored));
    await pull();
    expect(screen.text).toMatch(
      /small: [^\n]*\nthe connection broke[^\n]*\n[^\n]*small: [^\n]*\(100 %\)[^\n]*\n[^\n]*small, unpacking: [^\n]*\n$/,
    );
  });

  it('clears what a pull left that ended between its last steps', async () => {
    const { folders, paths, pull } = await setUpPull();
    await mkdir(paths.model, { recursive: true });
    await writeFile(join(paths.model, 'model.onnx'), '');
    await pull();
    await expectWhole(folders);
  });

  it('replaces a model that came from an older archive', async () => {
    const { folders, paths, pull } = await setUpPull();
    await mkdir(paths.model, { recursive: true });
    await writeFile(join(paths.model, 'old.onnx'), '');
    await writeFile(paths.receipt, JSON.stringify({ url: '', archiveSha256: 'old', pulledAt: '' }));
    await pull();
    await expectWhole(folders);
  });

  it('refuses a wrong hash and keeps nothing of it', async () => {
    const { server, folders, refusal } = await setUpPull(OTHER);
    expect(await refusal()).toBe(
      `${server.url}/${TOP}.tar.bz2: ${OTHER.length} bytes with sha256 ${sha256(OTHER)}, expected ${ARCHIVE.length} bytes with ${sha256(ARCHIVE)}. ` +
        `It was deleted: run the same command again; if ASR_MODEL_MIRROR is set, without it${BY_HAND}`,
    );
    expect(server.requests).toHaveLength(1);
    expect(await readdir(folders.downloaded)).toEqual([]);
  });

  it('does not ask twice for what is not there', async () => {
    const { server, refusal } = await setUpPull();
    server.script.push(server.status(404));
    expect(await refusal()).toBe(
      `${server.url}/${TOP}.tar.bz2: HTTP 404. If ASR_MODEL_MIRROR is set, check that it holds this file${BY_HAND}`,
    );
    expect(server.requests).toHaveLength(1);
  });

  it('tries a busy server again, and gives up after the last delay', async () => {
    const { server, folders, pull } = await setUpPull();
    server.script.push(...[503, 429, 500, 408].map((code) => server.status(code)));
    await pull({ retryDelaysMs: [0, 0, 0, 0] });
    await expectWhole(folders);

    const second = await setUpPull();
    second.server.script.push(...[1, 2, 3, 4].map(() => second.server.status(502)));
    expect(await second.refusal()).toMatch(
      /: HTTP 502; gave up after 3 tries at 0 B of 1\d\d\.\d KiB\. Run the same command again/,
    );
    expect(second.server.requests).toHaveLength(3);
  });

  it('says what is wrong with the connection', async () => {
    const { server, refusal } = await setUpPull();
    const dead = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => dead.once('listening', resolve));
    const { port } = dead.address() as AddressInfo;
    await new Promise((resolve) => dead.close(resolve));
    const refused = await refusal({ env: { ASR_MODEL_MIRROR: `http://127.0.0.1:${port}` } });
    expect(refused).toMatch(/cannot reach it \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)/);
    expect(refused.endsWith(BY_HAND)).toBe(true);
    expect((await refusal({ env: { http_proxy: `http://127.0.0.1:${port}` } })).endsWith(BY_HAND)).toBe(true);
    expect(await refusal({ env: { http_proxy: 'no address' } })).toMatch(
      /^HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a proxy address/,
    );
    expect(server.requests).toEqual([]);
  });

  it('says within ten seconds that there is no network, whatever its list of waits', async () => {
    const { refusal } = await setUpPull();
    // Without a network no packet comes back: here the handshake of TLS gets no answer.
    let connections = 0;
    const silent = createSilentServer((socket) => {
      connections += 1;
      onTestFinished(() => void socket.destroy());
    }).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const ASR_MODEL_MIRROR = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const answer = await refusal({
      env: { ASR_MODEL_MIRROR },
      connectTimeoutMs: 100,
      retryDelaysMs: [0, 10_000],
    });
    expect(answer).toMatch(
      /: cannot reach it \(Connect Timeout Error .*\); gave up after 2 tries at 0 B of /,
    );
    expect(answer).toMatch(/HTTPS_PROXY sets a proxy, ASR_MODEL_MIRROR another address/);
    expect(answer.endsWith(BY_HAND)).toBe(true);
    expect(connections).toBe(2);
  });

  it.each([
    // A whole answer that does not say its length.
    [
      (response: ServerResponse) => response.write('<html>'),
      /: 20 bytes with sha256 .*, expected .* was deleted/,
    ],
    [
      (response: ServerResponse) => response.writeHead(200, { 'content-length': 20 }).write('<html>'),
      /is a file of 20 bytes, expected about 1\d+: not the model's archive.*\. On a machine without internet, /,
    ],
  ])("refuses a mirror's page instead of the file", async (begin, expected) => {
    const { server, folders, refusal } = await setUpPull();
    server.script.push((_request, response) => {
      begin(response);
      response.end('Welcome</html>');
    });
    expect(await refusal()).toMatch(expected);
    expect(server.requests).toHaveLength(1);
    expect(await readdir(folders.downloaded)).toEqual([]);
  });

  it.skipIf(!existsSync('/dev/full'))(
    'ends when the disk is full and goes on when it is not any more',
    async () => {
      const { server, folders, paths, pull } = await setUpPull();
      await mkdir(folders.downloaded);
      await symlink('/dev/full', paths.part);
      await expect(pull()).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(server.requests).toHaveLength(1);
      await rm(paths.part);
      await pull();
      await expectWhole(folders);
    },
  );

  it('follows a redirect, also in the middle', async () => {
    const { server, folders, stored, pull } = await setUpPull();
    const storage = new ArchiveServer(ARCHIVE);
    await storage.listen();
    onTestFinished(() => storage.close());
    const redirect = (_request: unknown, response: ServerResponse): void => {
      response.writeHead(302, { location: `${storage.url}/file?signature=1` }).end();
    };
    server.script.push(redirect, redirect);
    storage.script.push(storage.breakAt(70_000, stored));
    await pull();
    await expectWhole(folders);
    expect(storage.requests).toEqual([
      { path: '/file?signature=1', range: undefined },
      { path: '/file?signature=1', range: 'bytes=70000-' },
    ]);
  });

  it('goes through a proxy that makes no tunnels to plain HTTP', async () => {
    const { server, folders, pull } = await setUpPull();
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
    const http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await pull({ env: { http_proxy } });
    await expectWhole(folders);
    expect(asked).toEqual([`${server.url}/${TOP}.tar.bz2`]);
  });
});
