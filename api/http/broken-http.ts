import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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
  const json = JSON.stringify({ error: code, message });
  const length = `Content-Length: ${Buffer.byteLength(json)}`;
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\n${length}\r\nConnection: close`;
  endWith(socket, `${head}\r\n\r\n${json}`);
  // The client has ended its side in the middle of a request: it is gone, or waits for no more than an answer.
  if (error.code === 'HPE_INVALID_EOF_STATE') return undefined;
  return { status: Number.parseInt(status, 10), code };
}
