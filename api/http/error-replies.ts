import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { WavError } from '../../common/audio/wav-error.ts';
import {
  ApiFailure,
  ClientGone,
  errorName,
  FormFailure,
  HTTP_STATUS,
  StoreUnavailable,
} from '../../common/errors/errors.ts';
import { endBeforeBody, endBehindBody } from './last-answers.ts';

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
  if (code === 'timeout') endBeforeBody(reply.raw);
  else endBehindBody(reply.raw);
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
  if (error instanceof WavError) return answer(HTTP_STATUS[error.code], error.code, error.message);
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
  endBehindBody(reply.raw);
  reply.code(404).send({ error: 'not_found', message: noSuchPath(request) });
}

function noSuchPath({ method, originalUrl }: FastifyRequest): string {
  return `there is no ${method} ${originalUrl.split('?')[0]}`;
}
