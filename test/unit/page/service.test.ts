import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Failure } from '../../../api/page/failures.ts';
import { modelName, readiness, transcribe } from '../../../api/page/service.ts';

let server: Server;
let answer: (response: ServerResponse) => void;

beforeAll(async () => {
  server = createServer((_request, response) => answer(response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const { fetch } = globalThis;
  // A browser adds the page's address.
  vi.stubGlobal('fetch', (path: string, init: RequestInit) =>
    fetch(`http://127.0.0.1:${address.port}/${path}`, init),
  );
});
afterAll(() => {
  vi.unstubAllGlobals();
  server.closeAllConnections();
  server.close();
});

const REQUESTS = [
  (signal: AbortSignal) => readiness('token', signal),
  (signal: AbortSignal) => transcribe(new Blob(['wav']), 'token', signal),
];
const unaborted = new AbortController().signal;

it.each([
  [502, '<h1>Bad Gateway</h1>', 'connection_lost'],
  [503, '<h1>Service Unavailable</h1>', 'connection_lost'],
  [504, '', 'connection_lost'],
  // Somebody else's sign-in page, and a fault that has no code of the interface.
  [200, '<h1>Welcome</h1>', 'unexpected'],
  [500, '<h1>Internal Server Error</h1>', 'unexpected'],
  [403, '{"error":"forbidden","message":"not this address"}', 'forbidden'],
])('of an answer %i %s it is told %s', async (status, body, kind) => {
  answer = (response) => response.writeHead(status).end(body);
  for (const request of REQUESTS) await expect(request(unaborted)).rejects.toMatchObject({ kind });
});

it('an answer that breaks off is a lost connection, which passes', async () => {
  answer = (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"status":', () => response.destroy());
  };
  for (const request of REQUESTS)
    await expect(request(unaborted)).rejects.toMatchObject({ kind: 'connection_lost' });
});

it('who waits no longer is told so, and of no lost connection', async () => {
  for (const request of REQUESTS) {
    const abort = new AbortController();
    answer = () => abort.abort(new Failure('cancelled'));
    await expect(request(abort.signal)).rejects.toMatchObject({ kind: 'cancelled' });
  }
});

it.each([
  [200, '{"id":"bundled","family":"whisper"}', 'bundled (whisper)'],
  // An inference process of a version that does not tell it.
  [200, '{"id":"bundled","family":null}', 'bundled'],
  [200, '{"id":null,"family":null}', undefined],
  // An api of a version without that path, the store away, and somebody else's page.
  [404, '{"error":"not_found","message":"there is no GET /page/model.json"}', undefined],
  [503, '{"error":"not_ready"}', undefined],
  [200, '<h1>Welcome</h1>', undefined],
])('of an answer %i %s the model is %s', async (status, body, name) => {
  answer = (response) => response.writeHead(status).end(body);
  expect(await modelName(unaborted)).toBe(name);
});
