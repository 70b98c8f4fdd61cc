import { once } from 'node:events';
import Value from 'typebox/value';
import { WebSocket } from 'ws';
import { ServerMessage } from '../../../common/messages/stream.ts';

export interface ReceivedMessage {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * A bare stream client: sends what the test says and keeps what comes, in order. What is no message of the
 * interface fails the test.
 */
export class StreamClient {
  readonly received: ReceivedMessage[] = [];
  readonly #socket: WebSocket;
  readonly #waiters: (() => void)[] = [];
  #closeCode: number | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) throw new Error('the server sent a binary frame');
      const message: unknown = JSON.parse(data.toString('utf8'));
      if (!Value.Check(ServerMessage, message)) throw new Error(`the server sent ${JSON.stringify(message)}`);
      this.received.push(message);
      this.#wake();
    });
    socket.on('close', (code) => {
      this.#closeCode = code;
      this.#wake();
    });
    socket.on('error', () => undefined);
  }

  /**
   * Connects; rejects with the status of a refused handshake in its message.
   * @param url e.g. `ws://127.0.0.1:8088/ws/asr`.
   * @param ca trusted besides others
   */
  static async connect(
    url: string,
    headers: Record<string, string> = {},
    ca?: Buffer,
  ): Promise<StreamClient> {
    const socket = new WebSocket(url, { headers, ca });
    const client = new StreamClient(socket);
    await once(socket, 'open');
    return client;
  }

  /** The handshake's answer when it is refused; `connection` is the header. */
  static refused(
    url: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; connection: string | undefined; body: unknown }> {
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(url, { headers });
      socket.on('open', () => reject(new Error('the handshake was accepted')));
      socket.on('error', () => undefined);
      socket.on('unexpected-response', (_request, response) => {
        let body = '';
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        const { statusCode: status = 0, headers } = response;
        response.on('end', () => resolve({ status, connection: headers.connection, body: JSON.parse(body) }));
      });
    });
  }

  start(fields: Record<string, unknown> = {}): void {
    this.json({ type: 'start', sample_rate: 16_000, channels: 1, encoding: 'pcm_s16le', ...fields });
  }

  json(message: unknown): void {
    this.#socket.send(JSON.stringify(message));
  }

  /** @param text as bytes where it is to be no text */
  text(text: string | Uint8Array): void {
    this.#socket.send(text, { binary: false });
  }

  audio(pcm: Uint8Array): void {
    this.#socket.send(pcm, { binary: true });
  }

  /** The begin of a message whose end never comes. */
  unfinished(bytes: Uint8Array): void {
    this.#socket.send(bytes, { binary: true, fin: false });
  }

  /** All of it at once, in frames. */
  send(pcm: Uint8Array, frameBytes = 3_200): void {
    for (let at = 0; at < pcm.length; at += frameBytes) this.audio(pcm.subarray(at, at + frameBytes));
  }

  end(): void {
    this.json({ type: 'end' });
  }

  /** Cuts the connection without a close frame. */
  terminate(): void {
    this.#socket.terminate();
  }

  close(): void {
    this.#socket.close();
  }

  /** Reads nothing any more, so that it does not hear that the server ends the connection, and leaves its own side open. */
  stopReading(): void {
    this.#socket.pause();
  }

  /** The first message of this type, now or later. Rejects when the connection closes without one. */
  async message(type: string): Promise<ReceivedMessage> {
    for (;;) {
      const found = this.received.find((message) => message.type === type);
      if (found) return found;
      if (this.#closeCode !== undefined) {
        const received = JSON.stringify(this.received);
        throw new Error(`closed (${this.#closeCode}) without "${type}"; received ${received}`);
      }
      await this.#change();
    }
  }

  /** The close code, once closed. */
  async closed(): Promise<number> {
    while (this.#closeCode === undefined) await this.#change();
    return this.#closeCode;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}
