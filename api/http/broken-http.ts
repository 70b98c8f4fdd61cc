import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Refusal } from './error-replies.ts';
import { endWith } from './last-answers.ts';

/**
 * The answer to what never became a request of Fastify's: broken HTTP, or headers or a body that did not arrive in time.
 * @param current the response to the request that is broken, or else the one in front of it, which is closed
 * @returns undefined when nobody was refused: there was no answer to give, or the client broke off by itself
 */
export function replyToBrokenHttp(
  error: Error & { code?: string },
  socket: Socket,
  current: ServerResponse | undefined,
): Refusal | undefined {
  if (!socket.writable) return undefined;
  // The rest of a request that was refused early: no answer may follow.
  if (current?.headersSent && !current.req.complete) {
    endWith(socket, '');
    return undefined;
  }
  const [status, code, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'timeout', 'the request was not complete in time']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'bad_request', 'the request headers are over 16384 bytes']
        : ['400 Bad Request', 'bad_request', 'the request is not valid HTTP/1.1'];
  endWith(socket, rawAnswer(status, { error: code, message }));
  // The client has ended its side in the middle of a request: it is gone, or waits for no more than an answer.
  if (error.code === 'HPE_INVALID_EOF_STATE') return undefined;
  return { status: Number.parseInt(status, 10), code };
}

/** A WebSocket handshake that breaks RFC 6455. */
export function replyToBrokenHandshake(error: Error, socket: Duplex): Refusal {
  const body = { error: 'bad_request', message: error.message };
  endWith(socket, rawAnswer('400 Bad Request', body, 'Sec-WebSocket-Version: 13\r\n'));
  return { status: 400, code: 'bad_request' };
}

/** An answer without a Response, the last one on its connection. */
function rawAnswer(status: string, body: object, headers = ''): string {
  const json = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\n${headers}Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(json)}\r\nConnection: close\r\n\r\n${json}`;
}
