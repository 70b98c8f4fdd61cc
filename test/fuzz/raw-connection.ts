import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Answer, parseAnswers } from './http-answers.ts';

/** A TCP connection that sends any bytes and keeps what comes. */
export class RawConnection {
  readonly #socket: Socket;
  #received = Buffer.alloc(0);
  #closed = false;
  readonly #waiters: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (data) => {
      this.#received = Buffer.concat([this.#received, data]);
      this.#wake();
    });
    socket.on('close', () => {
      this.#closed = true;
      this.#wake();
    });
    // A server may reset a connection that still sends; what came before that counts.
    socket.on('error', () => undefined);
  }

  static async open(port: number): Promise<RawConnection> {
    const socket = connect(port, '127.0.0.1');
    const connection = new RawConnection(socket);
    await once(socket, 'connect');
    return connection;
  }

  get received(): Buffer {
    return this.#received;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Drops what was received up to now. */
  forget(bytes = this.#received.length): void {
    this.#received = this.#received.subarray(bytes);
  }

  write(bytes: Uint8Array | string): void {
    if (this.#socket.writable) this.#socket.write(bytes);
  }

  /** Nothing more will be sent. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Resolves with the next bytes, or the end. */
  async change(): Promise<void> {
    if (!this.#closed) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  /** The HTTP answers received so far, whole ones only. */
  answers(): Answer[] {
    return parseAnswers(this.#received).answers;
  }

  /** The answers, as soon as there are `count` or the connection has ended. */
  async answersUntil(count: number): Promise<Answer[]> {
    while (this.answers().length < count && !this.#closed) await this.change();
    return this.answers();
  }

  async untilClosed(): Promise<void> {
    while (!this.#closed) await this.change();
  }

  #wake(): void {
    for (const waiter of this.#waiters.splice(0)) waiter();
  }
}
