import { Client } from 'undici';
import { FORM_TYPE } from './clips.ts';

export interface TimedAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** From the call to the whole answer. */
  readonly durationMs: number;
}

/** One keep-alive connection, one request at a time. */
export class HttpClient {
  readonly #client: Client;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(origin: string, headers: Readonly<Record<string, string>>) {
    this.#client = new Client(origin, { pipelining: 1 });
    this.#headers = headers;
  }

  async upload(path: string, form: Buffer): Promise<TimedAnswer> {
    return this.#request(path, 'POST', { ...this.#headers, 'content-type': FORM_TYPE }, form);
  }

  async get(path: string): Promise<TimedAnswer> {
    return this.#request(path, 'GET', { ...this.#headers }, null);
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #request(
    path: string,
    method: 'GET' | 'POST',
    headers: Record<string, string>,
    body: Buffer | null,
  ): Promise<TimedAnswer> {
    const startedAtMs = performance.now();
    const answer = await this.#client.request({ path, method, headers, body });
    const text = await answer.body.text();
    const durationMs = performance.now() - startedAtMs;
    return { status: answer.statusCode, body: JSON.parse(text), durationMs };
  }
}
