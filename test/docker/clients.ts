import { expect } from 'vitest';
import { fixture } from '../support/audio/fixtures.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { upload } from '../support/service/api.ts';
import { sendPaced } from '../support/service/real-service.ts';
import type { Compose } from './compose.ts';

/** What haproxy says of whoever reaches it. */
const FROM_THIS_MACHINE = { 'x-forwarded-for': '127.0.0.1' };
const FRAME_BYTES = 3_200;
export const REAL_TIME_MS = 100;
/** Twice as fast as speech, which the model keeps up with. */
const FAST_MS = 50;

const { wav, pcm } = fixture('e00');

/** Clients of one deployment: they send the recording e00, of 3.1 s. */
export class Clients {
  readonly #compose: Compose;
  readonly #authorized: { readonly authorization: string };

  constructor(compose: Compose) {
    this.#compose = compose;
    this.#authorized = { authorization: `Bearer ${compose.token}` };
  }

  /** 200, or the status and who said it: haproxy's own refusal is a page, the service's is an object. Or why there is none. */
  async status(url: string): Promise<number | string> {
    try {
      const response = await fetch(url, { headers: this.#authorized, signal: AbortSignal.timeout(10_000) });
      const said = await response.text();
      return response.ok ? response.status : `${response.status}: ${said}`;
    } catch (error) {
      return String(error);
    }
  }

  /** @param origin of the load balancer, or of a replica, to which the request then goes as from the load balancer */
  transcribe(origin = this.#compose.origin): ReturnType<typeof upload> {
    return upload(origin, wav, { ...this.#authorized, ...FROM_THIS_MACHINE });
  }

  /** A stream after `start`. */
  async connect(headers: Record<string, string> = {}): Promise<StreamClient> {
    const url = `${this.#compose.origin.replace('http', 'ws')}/ws/asr`;
    const client = await StreamClient.connect(url, { ...this.#authorized, ...headers });
    client.start();
    return client;
  }

  /** A stream after `ready`. */
  async openStream(headers: Record<string, string> = {}): Promise<StreamClient> {
    const client = await this.connect(headers);
    await client.message('ready');
    return client;
  }
}

export const speak = (client: StreamClient, frameIntervalMs = FAST_MS): Promise<void> =>
  sendPaced(client, pcm, FRAME_BYTES, frameIntervalMs);

export async function finalText(client: StreamClient): Promise<unknown> {
  client.end();
  const { text } = await client.message('final');
  expect(await client.closed()).toBe(1_000);
  return text;
}
