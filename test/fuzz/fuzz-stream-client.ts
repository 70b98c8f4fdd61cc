import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';

export type ServerMessage = { readonly type: string; readonly [field: string]: unknown };

/** The client's side of a stream, which also sends messages in fragments, and several frames in one piece. */
export class FuzzStreamClient {
  readonly messages: ServerMessage[] = [];
  readonly pongs: string[] = [];
  readonly socket: WebSocket;
  readonly #connection: Socket;
  #closeCode: number | undefined;
  #isHeld = false;
  #wake = (): void => undefined;

  private constructor(port: number, headers: Readonly<Record<string, string>>) {
    this.#connection = connect(port, '127.0.0.1').setNoDelay(true);
    const createConnection = (): Socket => this.#connection;
    this.socket = new WebSocket(`ws://127.0.0.1:${port}/ws/asr`, {
      headers: { ...headers },
      createConnection,
    });
    this.socket.on('message', (data) => {
      this.messages.push(JSON.parse(String(data)));
      this.#wake();
    });
    this.socket.on('pong', (payload) => void this.pongs.push(payload.toString('latin1')));
    this.socket.on('close', (code) => {
      this.#closeCode = code;
      this.#wake();
    });
    // The server may end a connection that still sends; what came before that counts.
    this.socket.on('error', () => undefined);
  }

  /** @throws Error when the handshake is refused */
  static async open(port: number, headers: Readonly<Record<string, string>>): Promise<FuzzStreamClient> {
    const client = new FuzzStreamClient(port, headers);
    await once(client.socket, 'open');
    return client;
  }

  get last(): ServerMessage | undefined {
    return this.messages.at(-1);
  }

  of(type: string): ServerMessage[] {
    return this.messages.filter((message) => message.type === type);
  }

  /** A message in one frame or, cut at these places, in several. */
  send(payload: Buffer, binary: boolean, cuts: readonly number[] = []): void {
    const places = [...new Set(cuts.map((cut) => cut % (payload.length + 1)))].sort((a, b) => a - b);
    const ends = [...places, payload.length];
    for (const [index, end] of ends.entries())
      this.socket.send(payload.subarray(ends[index - 1] ?? 0, end), {
        binary,
        fin: index === ends.length - 1,
      });
  }

  /** What is sent from now on goes out in one piece, with `flush`. */
  hold(): void {
    if (!this.#isHeld) this.#connection.cork();
    this.#isHeld = true;
  }

  flush(): void {
    if (this.#isHeld) this.#connection.uncork();
    this.#isHeld = false;
  }

  /** Waits until this holds, or the connection has ended. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds() && this.#closeCode === undefined)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }

  /** The code that the server closed with; 1006 where the connection ended without one. */
  async closed(): Promise<number> {
    await this.until(() => false);
    return this.#closeCode ?? 1006;
  }

  destroy(): void {
    this.#connection.destroy();
  }
}
