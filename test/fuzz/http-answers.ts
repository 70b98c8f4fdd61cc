import assert from 'node:assert/strict';
import { packageRoot } from '../../common/process/package-root.ts';

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** Takes HTTP/1.1 answers (to anything but HEAD) out of bytes; interim answers (1xx) are left out, but 101 ends it. */
export function parseAnswers(bytes: Buffer): { answers: Answer[]; rest: Buffer } {
  const answers: Answer[] = [];
  let rest = bytes;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return { answers, rest };
    const [statusLine = '', ...lines] = rest.subarray(0, headEnd).toString('latin1').split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
    assert.ok(status >= 100 && status < 600, `no HTTP answer: ${JSON.stringify(statusLine)}`);
    const headers = new Map(lines.map(headerField));
    const content = rest.subarray(headEnd + 4);
    if (status === 101)
      return { answers: [...answers, { status, headers, body: content }], rest: Buffer.alloc(0) };
    const body = status < 200 ? { body: Buffer.alloc(0), bytes: 0 } : bodyOf(headers, content);
    if (body === undefined) return { answers, rest };
    if (status >= 200) answers.push({ status, headers, body: body.body });
    rest = content.subarray(body.bytes);
  }
}

function headerField(line: string): [string, string] {
  const colon = line.indexOf(':');
  assert.ok(colon > 0, `no header line: ${JSON.stringify(line)}`);
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/** @returns undefined while it is not there in full. */
function bodyOf(
  headers: ReadonlyMap<string, string>,
  content: Buffer,
): { body: Buffer; bytes: number } | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return chunkedBody(content);
  const bytes = Number(headers.get('content-length'));
  assert.ok(Number.isSafeInteger(bytes), 'the answer says its length');
  return content.length < bytes ? undefined : { body: content.subarray(0, bytes), bytes };
}

function chunkedBody(content: Buffer): { body: Buffer; bytes: number } | undefined {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const lineEnd = content.indexOf('\r\n', at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(content.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + 2;
    if (content.length < start + size + 2) return undefined;
    pieces.push(content.subarray(start, start + size));
    at = start + size + 2;
    if (size === 0) return { body: Buffer.concat(pieces), bytes: at };
  }
}

/**
 * The interface's table of HTTP errors. `bad_request`, `not_found` and `method_not_allowed` are for what is
 * outside of it: broken HTTP and other paths.
 */
const STATUS_OF: Readonly<Record<string, readonly number[]>> = {
  invalid_format: [400],
  empty_audio: [400],
  audio_too_long: [400],
  unauthorized: [401],
  forbidden: [403],
  timeout: [408],
  busy: [409],
  upload_too_large: [413],
  inference_failed: [500],
  not_ready: [503],
  not_found: [404],
  method_not_allowed: [405],
  bad_request: [400, 412, 413, 415, 416, 426, 431],
};
const LEAKS = [packageRoot(), 'node_modules', '\n    at ', 'file://', '.ts:', '.js:', 'node:'];

/**
 * @returns the error's code, `validation` for a 422, undefined for a success.
 * @throws AssertionError for an answer that the interface does not have
 */
export function assertDocumented({ status, headers, body }: Answer): string | undefined {
  if (status < 400) return undefined;
  const text = body.toString('utf8');
  assert.match(headers.get('content-type') ?? '', /^application\/json(;|$)/, `${status} ${text}`);
  for (const leak of LEAKS) assert.ok(!text.includes(leak), `"${leak}" is in the body: ${text}`);
  const value: unknown = JSON.parse(text);
  assert.ok(typeof value === 'object' && value !== null, text);
  if (status === 422) {
    assertDetail(value, text);
    return 'validation';
  }
  const { error, message, ...other } = { error: undefined, message: undefined, ...value };
  assert.ok(typeof error === 'string' && (message === undefined || typeof message === 'string'), text);
  assert.deepEqual(other, {}, `the body has other fields: ${text}`);
  assert.ok(STATUS_OF[error]?.includes(status), `${error} with status ${status}: ${text}`);
  if (status === 401) assert.equal(headers.get('www-authenticate'), 'Bearer');
  if (status === 405) assert.match(headers.get('allow') ?? '', /^(GET, HEAD|POST)$/);
  if (status === 409 || status === 503) assert.equal(headers.get('retry-after'), '1');
  return error;
}

function assertDetail(value: object, text: string): void {
  assert.deepEqual(Object.keys(value), ['detail'], text);
  const detail: unknown = Object.values(value)[0];
  assert.ok(Array.isArray(detail) && detail.length > 0, text);
  for (const entry of detail) {
    const { loc, msg, type } = { loc: undefined, msg: undefined, type: undefined, ...entry };
    assert.ok(Array.isArray(loc) && typeof msg === 'string' && typeof type === 'string', text);
  }
}
