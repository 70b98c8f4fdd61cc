import assert from 'node:assert/strict';
import type { RawConnection } from './raw-connection.ts';
import { decodeFrame, encodeFrame, OPCODE } from './ws-frames.ts';

export type ServerMessage = { readonly type: string; readonly [field: string]: unknown };

/** The client's side of a stream, byte by byte: nothing of it is kept from breaking the protocol. */
export class RawStreamClient {
  readonly connection: RawConnection;
  readonly messages: ServerMessage[] = [];
  readonly pongs: Buffer[] = [];
  /** From the server's close frame; 1005 stands for one without a code. */
  closeCode: number | undefined;

  private constructor(connection: RawConnection) {
    this.connection = connection;
  }

  /** @throws AssertionError when the handshake is refused */
  static async open(connection: RawConnection, authorization: string | undefined): Promise<RawStreamClient> {
    const lines = [
      'GET /ws/asr HTTP/1.1',
      'Host: x',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
    ];
    connection.write(`${lines.join('\r\n')}\r\n\r\n`);
    const [answer] = await connection.answersUntil(1);
    assert.equal(answer?.status, 101);
    connection.forget(connection.received.indexOf('\r\n\r\n') + 4);
    return new RawStreamClient(connection);
  }

  get last(): ServerMessage | undefined {
    return this.messages.at(-1);
  }

  of(type: string): ServerMessage[] {
    return this.messages.filter((message) => message.type === type);
  }

  /** Waits until this holds, or the server has closed, or the connection has ended. */
  async until(holds: () => boolean): Promise<void> {
    for (;;) {
      this.#read();
      if (holds() || this.closeCode !== undefined || this.connection.closed) return;
      await this.connection.change();
    }
  }

  /** Waits for the end that the server gives it, and then ends the connection as a client does. */
  async untilClosed(): Promise<void> {
    await this.until(() => false);
    if (this.closeCode !== undefined)
      this.connection.write(encodeFrame({ opcode: OPCODE.close, payload: Buffer.from([3, 232]) }));
    this.connection.end();
    await this.connection.untilClosed();
    this.#read();
  }

  #read(): void {
    for (;;) {
      const decoded = decodeFrame(this.connection.received);
      if (decoded === undefined) return;
      this.connection.forget(decoded.bytes);
      assert.equal(this.closeCode, undefined, 'a frame behind the close frame');
      const { opcode, payload } = decoded.frame;
      switch (opcode) {
        case OPCODE.text:
          this.messages.push(JSON.parse(payload.toString('utf8')));
          break;
        case OPCODE.pong:
          this.pongs.push(payload);
          break;
        case OPCODE.close:
          this.closeCode = payload.length === 0 ? 1005 : payload.readUInt16BE(0);
          break;
        default:
          assert.fail(`the server sent a frame with opcode ${opcode}`);
      }
    }
  }
}
