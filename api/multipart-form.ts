/** The body or its Content-Type is no multipart form. `message` says why. */
export class MalformedForm extends Error {
  override readonly name = 'MalformedForm';
}

/** One part of a form. */
export interface FormPart {
  readonly name: string | undefined;
  /** It has a file name (or is `application/octet-stream`): a file, not a text field. */
  readonly isFile: boolean;
  /** A view of the body. */
  readonly content: Buffer;
}

const LINE_END = '\r\n';
const HEADERS_END = '\r\n\r\n';
const [CR, LF, BLANK, TAB, DASH] = [0x0d, 0x0a, 0x20, 0x09, 0x2d];
/** Far more than a form has that somebody means. */
const MAX_PARTS = 1_000;
/** `; name=value` with a token or a quoted string (RFC 9110, 5.6.6). */
const PARAMETER = /;[ \t]*([^\s=;"]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g;

/** The parameters of a header's value by their names in lower case; of equal names the first. */
function parametersOf(value: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [, name = '', quoted, token = ''] of value.matchAll(PARAMETER)) {
    const key = name.toLowerCase();
    if (!parameters.has(key)) parameters.set(key, quoted?.replace(/\\(["\\])/g, '$1') ?? token);
  }
  return parameters;
}

/** @param contentType of the request. @throws MalformedForm when it names no boundary */
export function boundaryOf(contentType: string): string {
  const boundary = parametersOf(contentType).get('boundary');
  if (!boundary) throw new MalformedForm('its Content-Type names no boundary');
  return boundary;
}

/**
 * Takes a whole multipart/form-data body apart (RFC 7578, RFC 2046), without copying. The body is complete and bounded, so there is nothing to wait for,
 * and an indexOf per delimiter does what a parser of streams needs a state machine for. Parts without headers that say what they are are left out.
 * @throws MalformedForm when it ends before its closing boundary or has over 1,000 parts
 */
export function formParts(body: Buffer, boundary: string): FormPart[] {
  const delimiters = new Delimiters(body, boundary);
  const parts: FormPart[] = [];
  let current = delimiters.next(0);
  for (let count = 1; !current.closing; count += 1) {
    if (count > MAX_PARTS) throw new MalformedForm(`it has over ${MAX_PARTS} parts`);
    const next = delimiters.next(current.end);
    const part = formPart(body.subarray(current.end, next.start + LINE_END.length));
    if (part) parts.push(part);
    current = next;
  }
  return parts;
}

interface Delimiter {
  /** Where it begins, with the line end in front of it, which belongs to it. */
  readonly start: number;
  /** Behind its own line end, less two bytes: the line end that closes it may open the next one. */
  readonly end: number;
  readonly closing: boolean;
}

/** The boundary lines of a body, one behind the other. */
class Delimiters {
  readonly #body: Buffer;
  readonly #line: Buffer;

  constructor(body: Buffer, boundary: string) {
    this.#body = body;
    this.#line = Buffer.from(`--${boundary}`);
  }

  /** The next one that begins at `from` or later. @throws MalformedForm when there is none */
  next(from: number): Delimiter {
    const body = this.#body;
    for (let at = from; ; ) {
      const found = body.indexOf(this.#line, at);
      if (found === -1) throw new MalformedForm('it ends before its closing boundary');
      at = found + this.#line.length;
      const start = Math.max(0, found - LINE_END.length);
      if (found !== 0 && (start < from || !this.#lineEndsAt(start))) continue;
      if (body[at] === DASH && body[at + 1] === DASH) return { start, end: at + 2, closing: true };
      // RFC 2046: blanks may follow the boundary. Anything else is a longer word in the content.
      let end = at;
      while (body[end] === BLANK || body[end] === TAB) end += 1;
      if (this.#lineEndsAt(end)) return { start, end, closing: false };
    }
  }

  #lineEndsAt(at: number): boolean {
    return this.#body[at] === CR && this.#body[at + 1] === LF;
  }
}

/**
 * @param bytes from the line end of one delimiter to the one of the next, which may also be the last of the headers
 * @returns undefined for a part that is none of a form
 */
function formPart(bytes: Buffer): FormPart | undefined {
  const headersEnd = bytes.indexOf(HEADERS_END);
  if (headersEnd === -1) return undefined;
  const headers = headersOf(bytes.toString('utf8', 0, headersEnd));
  const disposition = headers.get('content-disposition') ?? '';
  if (!/^form-data *(;|$)/i.test(disposition)) return undefined;
  const parameters = parametersOf(disposition);
  const type = headers.get('content-type') ?? '';
  return {
    name: parameters.get('name'),
    isFile:
      parameters.has('filename') ||
      parameters.has('filename*') ||
      /^application\/octet-stream *(;|$)/i.test(type),
    content: bytes.subarray(headersEnd + HEADERS_END.length, -LINE_END.length),
  };
}

/** Values by their names in lower case; of equal names the first. A line that begins with a blank goes on with the one before it. */
function headersOf(text: string): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of text.replace(/\r\n[ \t]+/g, ' ').split(LINE_END)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    if (colon > 0 && !headers.has(name)) headers.set(name, line.slice(colon + 1).trim());
  }
  return headers;
}
