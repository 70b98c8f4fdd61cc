import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { ARCHIVE, OTHER } from '../small-model.ts';
import { expectWhole, setUpPull } from './pulling.ts';

describe('a pull that was broken off', () => {
  it('goes on after broken connections, asking for the rest only', async () => {
    const { server, folders, screen, stored, pull } = await setUpPull();
    server.script.push(server.breakAt(40_000, stored), server.breakAt(90_000, stored));
    await pull();
    await expectWhole(folders);
    expect(server.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=40000-', 'bytes=90000-']);
    expect(screen.text.match(/the connection broke \(.*\); trying again in 0 s/g)).toHaveLength(2);
  });

  it('gives up a silent connection and makes a new one', async () => {
    const { server, folders, screen, pull } = await setUpPull();
    server.script.push(server.stallAt(60_000));
    await pull({ stallTimeoutMs: 1_000 });
    await expectWhole(folders);
    expect(screen.text).toContain('the connection broke (nothing came for 1 s); trying again');
    expect(server.requests[1]).toMatchObject({ range: 'bytes=60000-' });
  });

  it('starts again with a server that has no ranges', async () => {
    const { server, folders, screen, stored, pull } = await setUpPull();
    server.script.push(server.breakAt(40_000, stored), (_request, response) => response.end(ARCHIVE));
    await pull();
    await expectWhole(folders);
    expect(screen.text).toContain(
      'the server does not go on where it stopped: starting again from the beginning',
    );
  });

  it('goes on with a server that sends less at a time than was asked for', async () => {
    const { server, folders, stored, pull } = await setUpPull();
    server.script.push(server.breakAt(60_000, stored), (_request, response) => {
      response.writeHead(206, { 'content-range': 'bytes 60000-99999/*' });
      response.end(ARCHIVE.subarray(60_000, 100_000));
    });
    await pull();
    await expectWhole(folders);
    expect(server.requests.map(({ range }) => range)).toEqual([undefined, 'bytes=60000-', 'bytes=100000-']);
  });

  it('does not count the failures before a try that brought something new', async () => {
    const { server, folders, stored, pull } = await setUpPull();
    for (const until of [20_000, 40_000, 60_000, 80_000]) server.script.push(server.breakAt(until, stored));
    await pull({ retryDelaysMs: [0] });
    await expectWhole(folders);
    expect(server.requests).toHaveLength(5);
  });

  it('stops at once also between two tries', async () => {
    const { server, screen, pull } = await setUpPull();
    const stop = new AbortController();
    server.script.push(server.status(503));
    const stopped = expect(pull({ retryDelaysMs: [60_000] }, stop.signal)).rejects.toThrow();
    await vi.waitFor(() => expect(screen.text).toContain('trying again in 60 s'));
    stop.abort(new Error('stopped'));
    await stopped;
  });

  it('needs no server for a part that is complete, as of a pull that was stopped while it unpacked', async () => {
    const { server, folders, paths, pull } = await setUpPull();
    await mkdir(paths.unpacking, { recursive: true });
    await writeFile(`${paths.unpacking}/tokens.txt`, 'half');
    await writeFile(paths.part, ARCHIVE);
    await pull();
    await expectWhole(folders);
    expect(server.requests).toEqual([]);
  });

  it('keeps no part of another file, and downloads it whole the next time', async () => {
    const { server, folders, paths, pull, refusal } = await setUpPull();
    await mkdir(folders.downloaded);
    await writeFile(paths.part, OTHER.subarray(0, 50_000));
    expect(await refusal()).toMatch(/bytes with sha256 .*It was deleted: run the same command again/);
    expect(await readdir(folders.downloaded)).toEqual([]);
    await pull();
    await expectWhole(folders);
    expect(server.requests.map(({ range }) => range)).toEqual(['bytes=50000-', undefined]);
  });
});
