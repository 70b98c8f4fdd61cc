import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ApiFailure, errorName, FormFailure, HTTP_STATUS, StoreUnavailable } from '../common/errors.ts';
import { ClientGone } from './client-gone.ts';

const LINGER_MS = 2_000;
/** Longer, for an upload that is slow: Apache and Varnish look for an answer only when they have sent all of it, and make a 502 or 503 of an end before. */
const SLOW_UPLOAD_LINGER_MS = 10_000;
/** nginx's status for a client that hung up before it had its answer, or the whole of it; only logs and metrics know it. */
const CLIENT_CLOSED_REQUEST = 499;

declare module 'fastify' {
  interface FastifyRequest {
    /** What went wrong, for the log line. */
    failureCode?: string;
    /**
     * For the log line, where the code does not say enough: whether the peer, the origin or a handshake's token was refused (a browser keeps the answer from its
     * page), and why the service could not serve a request (500, 503).
     */
    failureReason?: string;
    /** Durations in milliseconds of a recording that was recognized, for the log line. */
    recognized?: { readonly audioMs: number; readonly inferenceMs: number };
  }
}

/** Every failure of a request in the interface's form. Nothing of a fault of ours reaches the client but that it happened. */
export function replyWithError(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (error instanceof ClientGone) {
    reply.hijack();
    return;
  }
  const { status, code, body } = answerTo(error, request);
  request.failureCode = code;
  // These messages repeat nothing that the client sent but its address or origin.
  if (error instanceof ApiFailure && (code === 'forbidden' || status >= 500))
    request.failureReason = error.message;
  if (code === 'timeout') endBeforeBody(request, reply);
  else letBodyDrain(request, reply);
  reply.code(status).send(body);
}

interface Answer {
  readonly status: number;
  /** For the log and the metrics. */
  readonly code: string;
  readonly body: object;
}

function answerTo(error: FastifyError | Error, request: FastifyRequest): Answer {
  const answer = (status: number, code: string, message: string): Answer => ({
    status,
    code,
    body: { error: code, message },
  });
  if (error instanceof ApiFailure) return answer(error.status, error.code, error.message);
  if (error instanceof FormFailure)
    return { status: 422, code: 'validation', body: { detail: [error.detail] } };
  if (error instanceof StoreUnavailable) {
    request.log.warn({ reason: error.message }, 'Redis did not answer a request');
    return answer(HTTP_STATUS.not_ready, 'not_ready', 'the service is not ready; try again shortly');
  }
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500;
  // Nothing is there for a method that only RTSP has (404), for QUERY, of which Fastify wants a Content-Type (we hide it) before it looks for the path, and for
  // odd paths, which the documentation's static files refuse (403; our own 403 is an ApiFailure).
  const isQuery = 'code' in error && error.code === 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE';
  if (status === 404 || status === 403 || isQuery) return answer(404, 'not_found', noSuchPath(request));
  if (status >= 400 && status < 500) return answer(status, 'bad_request', error.message);
  request.log.error({ err: error }, 'a request failed through a fault of the server');
  return answer(
    500,
    'server_error',
    `a fault of the server (${errorName(error)}); its log has request ${request.id}`,
  );
}

/** A path or method that does not exist. */
export function replyNotFound(request: FastifyRequest, reply: FastifyReply): void {
  request.failureCode = 'not_found';
  letBodyDrain(request, reply);
  reply.code(404).send({ error: 'not_found', message: noSuchPath(request) });
}

function noSuchPath({ method, originalUrl }: FastifyRequest): string {
  return `there is no ${method} ${originalUrl.split('?')[0]}`;
}

/**
 * An answer before the body was read. It is the connection's last: Node's own HTTP client, and so axios and node-fetch, writes the rest of its body no further once it
 * has its answer, and aiohttp writes its next request into it; on a connection that is kept, that request would wait for Node's request timeout. The rest is read
 * and dropped, since closing at once would reset the connection under a client that is still sending, who would then never see the answer; so the end that
 * Node puts behind the answer comes behind the body. Node's request timeout bounds it.
 */
function letBodyDrain({ raw: request }: FastifyRequest, reply: FastifyReply): void {
  const { headers, socket } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (request.complete || !hasBody) return;
  request.resume();
  reply.header('connection', 'close');
  const end = socket.destroySoon.bind(socket);
  socket.destroySoon = () => (request.complete ? end() : void request.once('end', end));
}

/** The answer to an upload that was too slow, whose rest may never come: our side ends at once, and what still comes is read and dropped for a while. */
function endBeforeBody({ raw: request }: FastifyRequest, reply: FastifyReply): void {
  const { socket } = request;
  request.resume();
  reply.header('connection', 'close');
  const end = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    endWith(socket, '', SLOW_UPLOAD_LINGER_MS);
    request.once('end', end);
  };
}

interface RequestLine {
  readonly route: string;
  readonly status: number;
  readonly [field: string]: unknown;
}

export function requestLine(request: FastifyRequest, reply: FastifyReply): RequestLine {
  const isGone = request.failureCode === 'client_gone';
  return {
    method: request.method,
    // The route's pattern, never the address: somebody may have put a token into its query.
    route: request.routeOptions.url ?? 'unknown',
    status: isGone ? CLIENT_CLOSED_REQUEST : reply.statusCode,
    outcome: isGone ? 'disconnected' : reply.statusCode < 400 ? 'done' : 'error',
    code: request.failureCode,
    reason: request.failureReason,
    peer: request.ip,
    ...request.recognized,
    durationMs: Math.round(reply.elapsedTime * 10) / 10,
  };
}

/** What the client was told, for the log and the metrics. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
}

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

/**
 * The end of a connection. What still comes is dropped, since closing at once would reset the connection under a client that sends and has not read the
 * answer; one that leaves its side open does not keep it for ever.
 */
function endWith(socket: Duplex, lastBytes: string, lingerMs = LINGER_MS): void {
  socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
