import { AsrError } from './errors.ts';
import type { Socket, SocketEvents, Transport } from './socket.ts';

/** The part of the platform's WebSocket that is used here: this file compiles without the DOM library, which Node's types contradict. */
interface PlatformWebSocket {
  readonly bufferedAmount: number;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  send(data: string | Uint8Array): void;
  close(code?: number): void;
}

type PlatformConstructor = new (url: string) => PlatformWebSocket;

function isConstructor(value: unknown): value is PlatformConstructor {
  return typeof value === 'function';
}

/** Connects with the platform's own WebSocket, the token in the first message. */
export const browserTransport: Transport = {
  tokenInStart: true,

  connect(url: string, _apiToken: string, events: SocketEvents): Socket {
    const platform: unknown = Reflect.get(globalThis, 'WebSocket');
    if (!isConstructor(platform)) throw new TypeError('this platform has no WebSocket');
    const socket = new platform(url);
    let opened = false;
    socket.onopen = () => {
      opened = true;
      events.onOpen();
    };
    socket.onmessage = ({ data }) => events.onText(typeof data === 'string' ? data : '(binary)');
    socket.onclose = ({ code, reason }) => {
      if (opened) return events.onClose(code, reason);
      // A browser tells a page nothing more, so that pages cannot probe a network.
      const possible = 'the service is away, or refuses this address or this page’s origin (403)';
      events.onFailed(new AsrError('network', `no connection to ${url}: ${possible}`, { closeCode: code }));
    };
    return {
      get bufferedBytes() {
        return socket.bufferedAmount;
      },
      send: (data) => socket.send(data),
      terminate: () => socket.close(1000),
    };
  },
};
