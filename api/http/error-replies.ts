import { METHODS } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WavError } from '../../common/audio/wav-error.ts';
import {
  ClientGone,
  errorName,
  FormFailure,
  HTTP_STATUS,
  refusalOf,
  ServiceFailure,
  StoreUnavailable,
} from '../../common/errors/errors.ts';
import { endBehindBody } from './last-answers.ts';
import { STREAM_PATH } from './request-checks.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What went wrong, for the log line. */
    failureCode?: string;
    /**
     * For the log line, if the code does not say enough. It is what was refused of a handshake (a browser
     * keeps the answer from its page). Or it is why the service could not serve a request (500, 503).
     */
    failureReason?: string;
  }
}

/** Goes with each 409 and 503. In seconds: the shortest wait that the header can say. */
export const RETRY_SOON = { 'Retry-After': '1' };

/** A client whose base URL has too much or too little of a path still ends with one of them. */
const ENDPOINTS = ['/v1/audio/transcriptions', '/readyz', STREAM_PATH];

/** What the client was told, for the log and the metrics. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
}

/**
 * Answers every failure of a request in the interface's form. Of a fault of ours the client learns only the
 * exception's type and the request's id.
 */
export function replyWithError(
  error: FastifyError | Error,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (error instanceof ClientGone) {
    reply.hijack();
    // Nobody else ends the socket of a handshake: each would keep its descriptor.
    request.raw.socket.destroy();
    return;
  }
  const { status, code, body } = answerTo(error, request);
  request.failureCode = code;
  // These messages repeat nothing that the client sent but its address or origin.
  if (error instanceof ServiceFailure && (code === 'forbidden' || status >= 500))
    request.failureReason = error.message;
  endBehindBody(reply.raw);
  if (status === 409 || status === 503) reply.headers(RETRY_SOON);
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
  if (error instanceof WavError) return answer(HTTP_STATUS[error.code], error.code, error.message);
  if (error instanceof FormFailure)
    return { status: 422, code: 'validation', body: { detail: [error.detail] } };
  if (error instanceof StoreUnavailable)
    request.log.warn({ reason: error.message }, 'Redis did not answer a request');
  const refusal = refusalOf(error);
  if (refusal?.isAmong(HTTP_STATUS))
    return { ...answer(HTTP_STATUS[refusal.code], refusal.code, refusal.message), code: refusal.label };
  const status = 'statusCode' in error ? (error.statusCode ?? 500) : 500;
  // 404: also a method that only RTSP has. 403: an odd path, refused by the documentation's static files; our
  // own 403 is a ServiceFailure.
  if (status === 404 || status === 403) return answer(404, 'not_found', noSuchPath(request));
  if (status >= 400 && status < 500) return answer(status, 'bad_request', error.message);
  request.log.error({ err: error }, 'a request failed through a fault of the server');
  return answer(
    500,
    'server_error',
    `a fault of the server (${errorName(error)}); its log has request ${request.id}`,
  );
}

/** A path that does not exist. */
export function replyNotFound(request: FastifyRequest, reply: FastifyReply): void {
  request.failureCode = 'not_found';
  endBehindBody(reply.raw);
  reply.code(404).send({ error: 'not_found', message: noSuchPath(request) });
}

/**
 * Answers every method that a path does not have with 405 and `Allow` (RFC 9110, section 15.5.6). It hears of
 * the routes that are added from now on.
 * @returns what to call when all of them are there
 */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  const urls = new Set<string>();
  app.addHook('onRoute', ({ url }) => void urls.add(url));
  return () => {
    for (const url of [...urls]) {
      const allowed = app.supportedMethods.filter((method) => app.hasRoute({ method, url }));
      app.route({
        url,
        method: app.supportedMethods.filter((method) => !allowed.includes(method)),
        exposeHeadRoute: false,
        schema: { hide: true },
        handler: (request, reply) => {
          request.failureCode = 'method_not_allowed';
          endBehindBody(reply.raw);
          const methods = allowed.join(', ');
          const message = `${pathOf(request)} takes ${methods}, not ${request.method}`;
          reply.code(405).header('Allow', methods).send({ error: 'method_not_allowed', message });
        },
      });
    }
  };
}

function noSuchPath(request: FastifyRequest): string {
  const path = pathOf(request);
  const meant = ENDPOINTS.find((endpoint) => path.endsWith(endpoint.replace('/v1', '')));
  const hint = meant === undefined ? '' : `; the path is ${meant}, so correct the client's base URL`;
  return `there is no ${request.method} ${path}${hint}`;
}

/** Without the query, which may hold a token. */
function pathOf({ originalUrl }: FastifyRequest): string {
  return originalUrl.split('?')[0] ?? '';
}
