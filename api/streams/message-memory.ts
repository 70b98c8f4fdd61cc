import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** What one read of a connection costs beside its bytes. Measured: 440 bytes for a buffer of one byte. */
const READ_BYTES = 512;

interface Share {
  bytes: number;
  readonly refuse: () => void;
}

/**
 * The memory for messages of all sockets of a replica that have begun and are not complete. A socket needs no token to
 * hold 1 MiB of them: 430 ended a replica of 512 MB in 2 s.
 */
export class MessageMemory {
  readonly #limitBytes: number;
  readonly #shares = new Set<Share>();
  #takenBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * Counts what comes in on a socket since its last complete message.
   * @param connection the socket's own
   * @param refuse answers the socket when it holds more than any other and all together hold too much. Then nothing
   * more is read of it, and it is destroyed.
   */
  watch(socket: WebSocket, connection: Socket, refuse: () => void): void {
    const share: Share = {
      bytes: 0,
      refuse: () => {
        socket.pause();
        refuse();
        connection.destroySoon();
      },
    };
    this.#shares.add(share);
    // In front of the WebSocket layer, which may find a message's end in this piece.
    connection.prependListener('data', ({ length }: Buffer) =>
      this.#hold(share, share.bytes + length + READ_BYTES),
    );
    socket.on('message', () => this.#hold(share, 0));
    connection.once('close', () => {
      this.#hold(share, 0);
      this.#shares.delete(share);
    });
  }

  #hold(share: Share, bytes: number): void {
    if (!this.#shares.has(share)) return;
    this.#takenBytes += bytes - share.bytes;
    share.bytes = bytes;
    while (this.#takenBytes > this.#limitBytes) {
      const most = [...this.#shares].reduce((one, other) => (other.bytes > one.bytes ? other : one));
      this.#takenBytes -= most.bytes;
      this.#shares.delete(most);
      most.refuse();
    }
  }
}
