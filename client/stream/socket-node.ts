import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import { AsrError } from '../protocol/errors.ts';
import { reasonOf, toError } from '../protocol/http.ts';
import type { Socket, SocketEvents, Transport } from './socket.ts';

/** Connects with `ws`, the token in the `Authorization` header of the handshake. */
export const nodeTransport: Transport = {
  tokenInStart: false,

  connect(url: string, apiToken: string, events: SocketEvents): Socket {
    const socket = new WebSocket(url, {
      headers: { authorization: `Bearer ${apiToken}` },
      // Audio does not compress, and waiting for the compressor would hold frames back.
      perMessageDeflate: false,
    });
    let opened = false;

    socket.on('open', () => {
      opened = true;
      events.onOpen();
    });
    socket.on('message', (data, isBinary) => {
      events.onText(isBinary ? '(binary)' : data.toString());
    });
    socket.on('unexpected-response', async (_request, response) => {
      const { 'content-type': contentType = '', location = null } = response.headers;
      const retryAfter = response.headers['retry-after'] ?? null;
      // Of a page that breaks off there is the status.
      const body = await text(response).catch(() => '');
      events.onFailed(toError({ status: response.statusCode ?? 0, contentType, location, retryAfter, body }));
    });
    socket.on('error', (error) => {
      // After opening, a close event follows and carries the code.
      if (opened) return;
      const message = `no connection to ${url}: ${reasonOf(error)}`;
      events.onFailed(new AsrError('network', message, { cause: error }));
    });
    socket.on('close', (code, reason) => events.onClose(code, reason.toString()));

    return {
      get bufferedBytes() {
        return socket.bufferedAmount;
      },
      send: (data) => socket.send(data),
      terminate: () => socket.terminate(),
    };
  },
};
