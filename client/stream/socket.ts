/** What a connection tells its session. Only the first `onClose` or `onFailed` counts. */
export interface SocketEvents {
  onOpen(): void;
  onText(text: string): void;
  /** @param code 1006 when the connection broke without a close frame */
  onClose(code: number, reason: string): void;
  /** There never was a connection. */
  onFailed(error: Error): void;
}

/** One WebSocket, the same for Node and browsers. */
export interface Socket {
  /** Bytes handed to `send` that have not left this machine's buffers. */
  readonly bufferedBytes: number;
  send(data: string | Uint8Array): void;
  /** Ends the connection. If the platform can, it does not wait for the other side. */
  terminate(): void;
}

/** How a platform connects. A browser cannot set handshake headers and so sends the token in `start`. */
export interface Transport {
  readonly tokenInStart: boolean;
  connect(url: string, apiToken: string, events: SocketEvents): Socket;
}
