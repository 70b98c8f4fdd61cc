import { AsrError } from '../protocol/errors.ts';
import { reasonOf } from '../protocol/http.ts';
import type { Socket, SocketEvents, Transport } from './socket.ts';

/** The platform's WebSocket as it is used here. The DOM library, which has it, contradicts Node's types. */
interface PlatformWebSocket {
  readonly bufferedAmount: number;
  onopen: (() => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  onerror: (() => void) | null;
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
    let socket: PlatformWebSocket;
    try {
      socket = new platform(url);
    } catch (error) {
      // Every browser throws for `ws:` from a page of HTTPS, Firefox also where the page's policy forbids it.
      const message = `no connection to ${url}: the browser forbids it to this page (${reasonOf(error)})`;
      throw new AsrError('network', message, { cause: error });
    }
    let opened = false;
    const failed = () => {
      // A browser tells a page nothing more, so that pages cannot probe a network.
      const possible =
        'the service is away, or refuses this address or this page’s origin (403), or this page’s Content-Security-Policy forbids it (connect-src)';
      events.onFailed(new AsrError('network', `no connection to ${url}: ${possible}`, { closeCode: 1006 }));
    };
    socket.onopen = () => {
      opened = true;
      events.onOpen();
    };
    socket.onmessage = ({ data }) => events.onText(typeof data === 'string' ? data : '(binary)');
    socket.onclose = ({ code, reason }) => (opened ? events.onClose(code, reason) : failed());
    // When the page's policy forbids the connection, Chromium sends this event alone, and no close.
    socket.onerror = () => {
      if (!opened) failed();
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
