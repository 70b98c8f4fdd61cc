import { WebSocket } from 'ws';
import { AsrError } from '../protocol/errors.ts';
import { reasonOf, toError } from '../protocol/http.ts';
import type { Socket, SocketEvents, Transport } from './socket.ts';

/** Much longer than any answer of the service and most error pages. */
const MAX_REFUSAL_BYTES = 65_536;
const MAX_MESSAGE_BYTES = 1_048_576;

/** Connects with `ws`, the token in the `Authorization` header of the handshake. */
export const nodeTransport: Transport = {
  tokenInStart: false,

  connect(url: string, apiToken: string, events: SocketEvents): Socket {
    const socket = new WebSocket(url, {
      headers: { authorization: `Bearer ${apiToken}` },
      // Audio does not compress, and waiting for the compressor would hold frames back.
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
    });
    let opened = false;

    socket.on('open', () => {
      opened = true;
      events.onOpen();
    });
    socket.on('message', (data, isBinary) => {
      events.onText(isBinary ? '(binary)' : data.toString());
    });
    socket.on('unexpected-response', (_request, response) => {
      let body = '';
      const refused = () => {
        const answer = {
          status: response.statusCode ?? 0,
          contentType: response.headers['content-type'] ?? '',
          location: response.headers.location ?? null,
          body,
        };
        events.onFailed(toError(answer));
      };
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        body += part;
        if (body.length > MAX_REFUSAL_BYTES) refused();
      });
      response.on('end', refused);
      response.on('error', refused);
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
