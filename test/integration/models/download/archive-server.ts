import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * A release page for tests. Each request is answered by the next of `script`, and by `serve` when the script
 * is used up.
 */
export class ArchiveServer {
  readonly content: Buffer;
  readonly script: Answer[] = [];
  readonly requests: { path: string; range: string | undefined }[] = [];
  readonly #server = createServer((request, response) => {
    this.requests.push({ path: request.url ?? '', range: request.headers.range });
    (this.script.shift() ?? this.serve)(request, response);
  });

  constructor(content: Buffer) {
    this.content = content;
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  readonly serve: Answer = (request, response) => {
    this.#start(request, response, this.content.length);
    response.end();
  };

  /**
   * Announces everything, sends up to byte `until` of the content, and cuts the connection once the client
   * has `stored` that much.
   */
  readonly breakAt =
    (until: number, stored: (bytes: number) => Promise<void>): Answer =>
    (request, response) => {
      this.#start(request, response, until);
      void whileConnected(response, stored(until)).finally(() => response.destroy());
    };

  /** The same, but leaves the connection open and silent. */
  readonly stallAt =
    (until: number): Answer =>
    (request, response) => {
      this.#start(request, response, until);
    };

  readonly status =
    (code: number): Answer =>
    (_request, response) => {
      response.writeHead(code, { 'content-type': 'text/html' }).end('<html>no</html>');
    };

  #start(request: IncomingMessage, response: ServerResponse, until: number): void {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    if (from > 0)
      response.setHeader('content-range', `bytes ${from}-${this.content.length - 1}/${this.content.length}`);
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': this.content.length - from });
    response.write(this.content.subarray(from, until));
  }
}

/**
 * Waits no longer than the connection lasts: the client may have left before, or was not this test's at all.
 */
async function whileConnected(response: ServerResponse, moment: Promise<void>): Promise<void> {
  await Promise.race([moment, once(response, 'close')]);
}
