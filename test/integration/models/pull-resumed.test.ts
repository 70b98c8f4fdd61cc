import { mkdir, readdir, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { type Answer, whileConnected } from './archive-server.ts';
import { archives, expectWhole, type PullOptions, setUpPull } from './pulling.ts';
import { TOP } from './small-model.ts';

let archive: Buffer;
let other: Buffer;
beforeAll(async () => {
  ({ archive, other } = await archives());
});
const setUp = (options?: PullOptions) => setUpPull(archive, options);

describe('a pull that was broken off', () => {
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

  it('goes on with a server that sends less at a time than was asked for', async () => {
    const { server, folders, entry, stored, pull } = await setUp();
    server.script.push(server.breakAt(60_000, stored), (_request, response) => {
      response.writeHead(206, { 'content-range': `bytes 60000-99999/${archive.length}` });
      response.end(archive.subarray(60_000, 100_000));
    });
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests.map((request) => request.range)).toEqual([
      undefined,
      'bytes=60000-',
      'bytes=100000-',
    ]);
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

  it('does not count the failures before a try that brought something new', async () => {
    const { server, folders, entry, stored, pull } = await setUp();
    for (const until of [20_000, 40_000, 60_000, 80_000]) server.script.push(server.breakAt(until, stored));
    await pull({ retryDelaysMs: [0] });
    await expectWhole(folders, entry);
    expect(server.requests).toHaveLength(5);
  });

  it('gives up on a server that brings next to nothing at each try', async () => {
    const { server, stored, refusal } = await setUp();
    // Less than 1 % of the file each, or there would be no end to it.
    for (const until of [20_000, 20_300, 20_600, 20_900]) server.script.push(server.breakAt(until, stored));
    expect(await refusal()).toContain('; gave up after 3 tries at 20.1 KiB of ');
    expect(server.requests).toHaveLength(3);
  });

  it('asks for the file as it is: of one that a server compresses, the rest cannot be asked for', async () => {
    const { server, pull } = await setUp();
    let asked: unknown;
    server.script.push((request, response) => {
      asked = request.headers['accept-encoding'];
      server.serve(request, response);
    });
    await pull();
    expect(asked).toBe('identity');
  });

  it('stops at once also between two tries', async () => {
    const { server, screen, pull } = await setUp();
    const stop = new AbortController();
    server.script.push(server.status(503));
    const stopped = expect(pull({ retryDelaysMs: [60_000] }, stop.signal)).rejects.toThrow();
    await vi.waitFor(() => expect(screen.text).toContain('trying again in 60 s'));
    stop.abort(new Error('stopped'));
    await stopped;
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

  it('asks for the rest without a weak ETag, with which a server sends the whole file', async () => {
    const { server, folders, entry, stored, pull } = await setUp({ etag: 'W/"one"' });
    server.script.push(server.breakAt(50_000, stored));
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests[1]).toMatchObject({ range: 'bytes=50000-', ifRange: undefined });
  });

  it('goes on at another address, without the ETag of the one before', async () => {
    const { server, folders, entry, paths, pull } = await setUp();
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, archive.subarray(0, 50_000));
    await writeFile(
      paths.partInfo,
      JSON.stringify({ url: `http://127.0.0.1/${TOP}.tar.bz2`, etag: '"zero"' }),
    );
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests).toEqual([{ path: `/${TOP}.tar.bz2`, range: 'bytes=50000-', ifRange: undefined }]);
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

  it('starts again once: the pieces of the second download fit as little', async () => {
    const { server, folders, paths, stored, refusal } = await setUp({ content: other, etag: undefined });
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.part, archive.subarray(0, 50_000));
    server.script.push(server.serve, server.breakAt(40_000, stored));
    expect(await refusal()).toMatch(/bytes with sha256 .*It was deleted/);
    expect(server.requests.map((request) => request.range)).toEqual([
      'bytes=50000-',
      undefined,
      'bytes=40000-',
    ]);
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
          void whileConnected(response, stored(archive.length)).finally(() => response.destroy());
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
    // Whoever brought the archive from elsewhere has no use for what was downloaded of it before.
    await writeFile(paths.part, 'half');
    await pull();
    await expectWhole(folders, entry);
    expect(server.requests).toEqual([]);
  });

  it('keeps no archive that is another one, which would count as downloaded', async () => {
    const { server, folders, paths, refusal } = await setUp();
    await mkdir(folders.downloaded, { recursive: true });
    await writeFile(paths.archive, other);
    server.script.push(server.status(404));
    expect(await refusal()).toContain('HTTP 404');
    expect(await readdir(folders.downloaded)).toEqual([]);
  });
});
