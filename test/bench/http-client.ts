import { Client } from 'undici';
import { FORM_TYPE } from './clips.ts';

interface TimedAnswer {
  /** From the call to the whole answer. */
  readonly durationMs: number;
  /** Of the model; NaN where the upload was refused. */
  readonly inferenceMs: number;
}

/** One keep-alive connection, one request at a time. */
export class HttpClient {
  readonly #client: Client;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(origin: string, headers: Readonly<Record<string, string>>) {
    this.#client = new Client(origin, { pipelining: 1 });
    this.#headers = headers;
  }

  /** @throws Error when the answer has another status */
  async upload(path: string, form: Buffer, status = 200): Promise<TimedAnswer> {
    const headers = { ...this.#headers, 'content-type': FORM_TYPE };
    const startedAtMs = performance.now();
    const answer = await this.#client.request({ path, method: 'POST', headers, body: form });
    const text = await answer.body.text();
    const durationMs = performance.now() - startedAtMs;
    if (answer.statusCode !== status) throw new Error(`expected ${status}, got ${answer.statusCode} ${text}`);
    return { durationMs, inferenceMs: Number(JSON.parse(text).inference_ms) };
  }

  /** A request that costs nothing. */
  async touch(): Promise<void> {
    await (await this.#client.request({ path: '/healthz', method: 'GET' })).body.dump();
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}
