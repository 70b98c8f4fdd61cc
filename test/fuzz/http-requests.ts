import fc from 'fast-check';
import { TOKEN } from '../support/service/api.ts';

const target = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      '/healthz',
      '/readyz',
      '/v1/audio/transcriptions',
      '/ws/asr',
      '/openapi.json',
      '/api-reference.md',
      '/page/main.js',
      '/page/model.json',
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '/nothing',
      '/%zz',
      '/%',
      '/%00',
      '/%c0%ae%c0%ae/',
      '/../../package.json',
      '/page/..%2f..%2fmain.ts',
      '/page/main.js%00.css',
      '/api-docs/static/..%2f..%2fpackage.json',
      '//healthz',
      '/healthz/',
      '*',
      'http://elsewhere/healthz',
    ),
  },
  {
    weight: 2,
    arbitrary: fc.string({ unit: fc.constantFrom(...'a./%?#"é\0'), maxLength: 30 }).map((text) => `/${text}`),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('/', '/api-docs/static/', '/ws/asr?'), fc.constantFrom(256, 4_000, 20_000))
      .map(([start, count]) => start + 'a'.repeat(count)),
  },
);

const method = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('GET', 'POST') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('PUT', 'OPTIONS', 'PROPFIND', 'QUERY', 'CONNECT', 'FLUSH', 'NONSENSE'),
  },
);

const AUTHORIZATION = `Authorization: Bearer ${TOKEN}`;
const handshake = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';

const headerLine = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.constantFrom(
      'Content-Type: multipart/form-data; boundary=B',
      'Content-Type: application/json',
      'Content-Type: ;;;',
      'Content-Length: 0',
      'Content-Length: 3',
      'Content-Length: 545537',
      'Content-Length: 1e9',
      'Transfer-Encoding: chunked',
      'Expect: 100-continue',
      'Expect: nonsense',
      'Connection: close',
      'Authorization: Bearer',
      'Authorization: Bearer wrong-token-wrong-token',
      'Origin: http://elsewhere',
      'X-Forwarded-For: 1.2.3.4, nonsense',
      'Upgrade: h2c',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 9',
      'no colon',
      'X-Null: \0',
      `X-Long: ${'a'.repeat(17_000)}`,
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.string({ unit: 'binary-ascii', maxLength: 10 }),
        fc.string({ unit: 'binary-ascii', maxLength: 20 }),
      )
      .map(([name, value]) => `${name}: ${value}`),
  },
);

const headers = fc
  .record({
    host: fc.oneof(
      { weight: 8, arbitrary: fc.constant(['Host: x']) },
      fc.constantFrom([], ['Host: x', 'Host: y']),
    ),
    authorization: fc.constantFrom([AUTHORIZATION], [AUTHORIZATION], []),
    handshake: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.subarray([...handshake, KEY]) },
      { weight: 1, arbitrary: fc.constant([...handshake, KEY]) },
    ),
    others: fc.array(headerLine, { maxLength: 3 }),
  })
  .map(({ host, authorization, handshake, others }) => [...host, ...authorization, ...handshake, ...others]);

const body = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'abc',
      '0\r\n\r\n',
      '3\r\nabc\r\n0\r\n\r\n',
      'zz\r\n',
      'ffffffffffffffffff\r\n',
    ),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 30 }) },
);

const request = fc
  .record({
    method,
    target,
    version: fc.oneof(
      { weight: 9, arbitrary: fc.constant('HTTP/1.1') },
      fc.constantFrom('HTTP/1.0', 'HTTP/2.0', 'RTSP/1.0', ''),
    ),
    headers,
    body,
  })
  .map(({ method, target, version, headers, body }) =>
    [`${method} ${target} ${version}`, ...headers, '', body].join('\r\n'),
  );

/**
 * Bytes, as latin1 text, that a client, a port scanner or a proxy with a mistake may send: one or more
 * requests, mostly broken.
 */
export const requestText: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: request },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.array(request, { minLength: 1, maxLength: 3 }),
        fc.nat(),
        fc.nat({ max: 4 }),
        fc.string({ unit: 'binary-ascii', maxLength: 6 }),
      )
      .map(([requests, place, removed, inserted]) => {
        const text = requests.join('');
        const at = place % (text.length + 1);
        return text.slice(0, at) + inserted + text.slice(at + removed);
      }),
  },
  {
    weight: 2,
    arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  },
  {
    weight: 1,
    // The beginning of TLS, of HTTP/2, and of the PROXY protocol.
    arbitrary: fc.constantFrom(
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
      'PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n',
    ),
  },
);
