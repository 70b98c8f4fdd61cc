import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { NetworkSettings } from '../../../models/archive.ts';
import type { CatalogueEntry } from '../../../models/catalogue.ts';
import { ModelFailure } from '../../../models/failure.ts';
import { pullModel } from '../../../models/pull.ts';
import { type ModelFolders, storePaths, verifyModel } from '../../../models/store.ts';
import { type Answer, ArchiveServer } from './archive-server.ts';
import { entryFor, Screen, sha256, TOP, temporaryFolders, transducerArchive } from './small-model.ts';

const FILES = [
  'README.md',
  'decoder-epoch-20.onnx',
  'download.json',
  'encoder-epoch-20.int8.onnx',
  'joiner-epoch-20.int8.onnx',
  'tokens.txt',
];
const NO_PROXY: NetworkSettings = {
  mirror: undefined,
  httpProxy: undefined,
  httpsProxy: undefined,
  noProxy: undefined,
};

describe('pulling a model over a real connection', () => {
  let archive: Buffer;
  let other: Buffer;
  beforeAll(async () => {
    archive = (await transducerArchive(120_000)).archive;
    // As long, another content: a file that changed on the server.
    other = Buffer.from(archive);
    other.fill(7, 1_000);
  });

  async function setUp(
    options: { content?: Buffer; etag?: string | undefined; entry?: Partial<CatalogueEntry> } = {},
  ) {
    const server = new ArchiveServer(options.content ?? archive, 'etag' in options ? options.etag : '"one"');
    await server.listen();
    onTestFinished(() => server.close());
    const folders = await temporaryFolders();
    const screen = new Screen();
    const entry = entryFor(archive, options.entry);
    const paths = storePaths(folders, entry.id);
    /** The client has written so many bytes to its part file. */
    const stored = (bytes: number): Promise<void> =>
      vi.waitFor(async () => expect((await stat(paths.part)).size).toBe(bytes), {
        timeout: 5_000,
        interval: 5,
      });
    const pull = (
      network: Partial<NetworkSettings> = {},
      signal: AbortSignal = new AbortController().signal,
    ) =>
      pullModel({
        entry,
        folders,
        network: {
          ...NO_PROXY,
          mirror: server.url,
          stallTimeoutMs: 5_000,
          retryDelaysMs: [0, 0],
          ...network,
        },
        output: screen,
        signal,
      });
    const refusal = async (network?: Partial<NetworkSettings>): Promise<string> => {
      const outcome: unknown = await pull(network).catch((error: unknown) => error);
      if (!(outcome instanceof ModelFailure)) throw new Error('expected a ModelFailure', { cause: outcome });
      return outcome.message;
    };
    return { server, folders, screen, entry, paths, stored, pull, refusal };
  }

  /** The model is whole, and nothing else is left in the folder. */
  async function expectWhole(folders: ModelFolders, entry: CatalogueEntry): Promise<void> {
    expect((await readdir(join(folders.downloaded, entry.id))).sort()).toEqual(FILES);
    expect(await readdir(folders.downloaded)).toEqual([entry.id]);
    expect(await verifyModel(folders, entry)).toEqual([]);
  }

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

  it('goes on after broken connections, asking for the rest of the same file only', async () => {
    const { server, folders, screen, entry, stored, pull } = await setUp();
    server.script.push(server.breakAt(40_000, stored), server.breakAt(90_000, stored));
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.slice(1)).toEqual([
      { path: `/${TOP}.tar.bz2`, range: 'bytes=40000-', ifRange: '"one"' },
      { path: `/${TOP}.tar.bz2`, range: 'bytes=90000-', ifRange: '"one"' },
    ]);
    expect(screen.text.match(/trying again in 0 s/g)).toHaveLength(2);
  });

  it('goes on where a stopped pull left off', async () => {
    const { server, folders, entry, stored, pull } = await setUp();
    const stop = new AbortController();
    server.script.push(server.stallAt(50_000));
    const stopped = expect(pull({}, stop.signal)).rejects.toThrow('stopped');
    await stored(50_000);
    stop.abort(new Error('stopped'));
    await stopped;
    expect(await readdir(folders.downloaded)).not.toContain('small.lock');
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests[1]).toMatchObject({ range: 'bytes=50000-', ifRange: '"one"' });
  });

  it('gives up a silent connection and makes a new one', async () => {
    const { server, folders, entry, pull } = await setUp();
    server.script.push(server.stallAt(60_000));
    await pull({ stallTimeoutMs: 1_000 });
    await expectWhole(folders, entry);
    expect(server.requests[1]).toMatchObject({ range: 'bytes=60000-' });
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
      void drip(response);
    });
    await pull();
    await expectWhole(folders, entry);
    const shown = [...screen.text.matchAll(/^small: .*\((\d+) %\)/gm)].map((match) => Number(match[1]));
    expect(shown.length).toBeGreaterThan(8);
    expect(shown).toEqual([...shown].sort((a, b) => a - b));
    expect(screen.text).toMatch(/^small: .*\(\d+ %\), [\d.]+ [KM]iB\/s, \d+ s left$/m);
  });

  it('starts again with a server that ignores the range', async () => {
    const { server, folders, screen, entry, stored, pull } = await setUp();
    server.script.push(server.breakAt(40_000, stored), server.ignoreRange);
    await pull();
    await expectWhole(folders, entry);
    expect(screen.text).toContain(
      'the server does not go on where it stopped: starting again from the beginning',
    );
  });

  it('starts again when the server sends another part than asked for', async () => {
    const { server, folders, entry, stored, pull } = await setUp();
    server.script.push(server.breakAt(40_000, stored), (_request, response) => {
      response.writeHead(206, { 'content-range': `bytes 39999-${archive.length - 1}/${archive.length}` });
      response.end(archive.subarray(39_999));
    });
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.map((request) => request.range)).toEqual([undefined, 'bytes=40000-', undefined]);
  });

  it.each([
    ['the whole length unknown', (range: string) => `bytes ${range}/*`],
    ['its unit in capitals', (range: string) => `Bytes ${range}/${archive.length}`],
  ])('goes on with a range that has %s', async (_, contentRange) => {
    const { server, folders, entry, stored, pull } = await setUp();
    server.script.push(server.breakAt(60_000, stored), (_request, response) => {
      response.writeHead(206, { 'content-range': contentRange(`60000-${archive.length - 1}`) });
      response.end(archive.subarray(60_000));
    });
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.map((request) => request.range)).toEqual([undefined, 'bytes=60000-']);
  });

  it('goes on after a cut in an answer that only its connection ends', async () => {
    const { server, folders, screen, entry, pull } = await setUp();
    server.script.push((request) => {
      request.socket.write('HTTP/1.0 200 OK\r\netag: "one"\r\n\r\n');
      request.socket.end(archive.subarray(0, 60_000));
    });
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.slice(1)).toEqual([
      { path: `/${TOP}.tar.bz2`, range: 'bytes=60000-', ifRange: '"one"' },
    ]);
    expect(screen.text).toMatch(/the connection ended at 58\.6 KiB of 1\d\d\.\d KiB; trying again/);
  });

  it('does not go on with a short answer that has an end of its own', async () => {
    const { server, folders, refusal } = await setUp();
    server.script.push((_request, response) => {
      response.write('<html>');
      response.end('Log in</html>');
    });
    expect(await refusal()).toMatch(/: 19 bytes with sha256 .*It was deleted/);
    expect(server.requests).toHaveLength(1);
    expect(await readdir(folders.downloaded)).toEqual([]);
  });

  it('takes a whole file that the server compressed unasked, but no part of one', async () => {
    const { server, folders, entry, stored, pull } = await setUp();
    // Longer than what is in it.
    const packed = gzipSync(archive, { level: 0 });
    server.script.push(
      server.breakAt(60_000, stored),
      (_request, response) => {
        const range = `bytes 60000-${packed.length - 1}/${packed.length}`;
        response.writeHead(206, { 'content-encoding': 'gzip', 'content-range': range });
        response.end(packed.subarray(60_000));
      },
      (_request, response) => {
        response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length });
        response.end(packed);
      },
    );
    await pull({ retryDelaysMs: [0, 0, 0] });
    await expectWhole(folders, entry);
    expect(server.requests.map((request) => request.range)).toEqual([undefined, 'bytes=60000-', undefined]);
  });

  it('keeps a part whose encoding is not taken off', async () => {
    const { server, folders, entry, stored, pull } = await setUp();
    const marked: Answer = (request, response) => {
      response.setHeader('content-encoding', 'x-bzip2');
      server.serve(request, response);
    };
    server.script.push(server.breakAt(60_000, stored), marked);
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests).toHaveLength(2);
  });

  it('gives up when what it threw away is all that comes again', async () => {
    const { server, stored, refusal } = await setUp();
    for (let round = 0; round < 5; round++)
      server.script.push(server.breakAt(40_000, stored), (_request, response) => {
        response.writeHead(206, { 'content-range': 'bytes 0-9/10' }).end('0123456789');
      });
    expect(await refusal()).toContain('; gave up after 3 tries at 39.1 KiB of ');
    expect(server.requests.map((request) => request.range)).toEqual([undefined, 'bytes=40000-', undefined]);
  });

  it('starts again when the file changed on the server (ETag)', async () => {
    const { server, folders, entry, paths, pull } = await setUp();
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, other.subarray(0, 50_000));
    await writeFile(paths.partInfo, JSON.stringify({ url: `${server.url}/${TOP}.tar.bz2`, etag: '"zero"' }));
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests).toEqual([{ path: `/${TOP}.tar.bz2`, range: 'bytes=50000-', ifRange: '"zero"' }]);
  });

  it('downloads once more when the pieces do not fit and the server has no ETag', async () => {
    const { server, folders, screen, entry, paths, pull } = await setUp({ etag: undefined });
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, other.subarray(0, 50_000));
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.map((request) => request.range)).toEqual(['bytes=50000-', undefined]);
    expect(screen.text).toContain('it was downloaded in pieces: starting again from the beginning');
  });

  it('needs no server for a part that is complete', async () => {
    const { server, folders, entry, paths, pull } = await setUp();
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, archive);
    await writeFile(paths.partInfo, '{}');
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests).toEqual([]);
  });

  it.each([
    [
      'says how much there is',
      (response: ServerResponse) => response.setHeader('content-range', `bytes */${archive.length}`),
    ],
    ['does not say how much there is', () => {}],
  ])(
    'keeps a part that was complete when its connection broke, with a server that %s',
    async (_, addTotal) => {
      const { server, folders, entry, stored, pull } = await setUp();
      server.script.push(
        (_request, response) => {
          // Chunked, and cut in front of the last chunk: the end is not known.
          response.writeHead(200).write(archive);
          void stored(archive.length).finally(() => response.destroy());
        },
        (_request, response) => {
          addTotal(response);
          response.writeHead(416).end();
        },
      );
      await pull();
      await expectWhole(folders, entry);
      expect(server.requests.map((request) => request.range)).toEqual([
        undefined,
        `bytes=${archive.length}-`,
      ]);
    },
  );

  it('starts again when a part of the right size is another file and the server has no more', async () => {
    const { server, folders, screen, entry, paths, pull } = await setUp();
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, other);
    server.script.push(server.status(416));
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.map((request) => request.range)).toEqual([`bytes=${archive.length}-`, undefined]);
    expect(screen.text).toContain('it was downloaded in pieces: starting again from the beginning');
  });

  it('throws a part away that is too long', async () => {
    const { server, folders, entry, paths, pull } = await setUp();
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, Buffer.concat([archive, archive]));
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.map((request) => request.range)).toEqual([
      `bytes=${archive.length * 2}-`,
      undefined,
    ]);
  });

  it('unpacks an archive that was verified before the last pull was stopped', async () => {
    const { server, folders, entry, paths, pull } = await setUp();
    await mkdir(paths.unpacking, { recursive: true });
    await writeFile(join(paths.unpacking, 'tokens.txt'), 'half');
    await writeFile(paths.archive, archive);
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests).toEqual([]);
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
        'It was deleted. If ASR_MODEL_MIRROR is set, try without it',
    );
    expect(server.requests).toHaveLength(1);
    expect(await readdir(folders.downloaded)).toEqual([]);
  });

  it('does not ask twice for what is not there', async () => {
    const { server, refusal } = await setUp();
    server.script.push(server.status(404));
    expect(await refusal()).toBe(
      `${server.url}/${TOP}.tar.bz2: HTTP 404 "Not Found". If ASR_MODEL_MIRROR is set, check that it holds this file`,
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
    server.script.push(server.status(503), server.status(429));
    await pull();
    await expectWhole(folders, entry);

    const second = await setUp();
    second.server.script.push(...[1, 2, 3, 4].map(() => second.server.status(502)));
    expect(await second.refusal()).toMatch(
      /: HTTP 502; gave up after 3 tries at 0 B of 1\d\d\.\d KiB\. Run the same command again/,
    );
    expect(second.server.requests).toHaveLength(3);
  });

  it('says what is wrong with the connection', async () => {
    const { server, refusal } = await setUp();
    const dead = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => dead.once('listening', resolve));
    const { port } = dead.address() as AddressInfo;
    await new Promise((resolve) => dead.close(resolve));
    expect(await refusal({ mirror: `http://127.0.0.1:${port}` })).toMatch(
      /cannot reach it \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)/,
    );
    expect(await refusal({ httpProxy: 'no address' })).toMatch(
      /^HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is no proxy address/,
    );
    expect(server.requests).toEqual([]);
  });

  it("refuses a mirror's page instead of the file, and a file without end", async () => {
    const page = await setUp({ content: Buffer.from('<html>Welcome</html>') });
    expect(await page.refusal()).toMatch(/is a file of 20 bytes, expected 1\d+: not the model's archive/);
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
      /has [\d.]+ MiB free, small needs about [\d.]+ MiB while it is unpacked: free some space/,
    );
    expect(server.requests).toEqual([]);
    expect(await readdir(folders.downloaded)).toEqual([]);
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
      asked.push(request.url ?? '');
      request.pipe(
        httpRequest(request.url ?? '', { headers: request.headers }, (answer) => {
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
