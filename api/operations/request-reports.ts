import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../../common/process/log.ts';
import { tenths } from '../../common/time/tenths.ts';
import type { Refusal } from '../http/error-replies.ts';
import type { Transcription } from '../uploads/transcriber.ts';
import type { ApiMetrics } from './metrics.ts';

/** nginx's status for a client that hung up before it had its answer, or the whole of it; only logs and metrics know it. */
const CLIENT_CLOSED_REQUEST = 499;

declare module 'fastify' {
  interface FastifyRequest {
    /** Durations of a recording that was recognized, for the log line. */
    recognized?: Omit<Transcription, 'text'>;
  }
}

/** What log and metrics are told of requests, one line each. */
export class RequestReports {
  readonly #metrics: ApiMetrics;
  readonly #log: Logger;

  constructor(metrics: ApiMetrics, log: Logger) {
    this.#metrics = metrics;
    this.#log = log;
  }

  ended(request: FastifyRequest, reply: FastifyReply): void {
    const line = requestLine(request, reply);
    const { route, status } = line;
    const { failureCode: code, recognized } = request;
    this.#metrics.request({ route, status, code, durationMs: reply.elapsedTime, recognized });
    // A load balancer asks for the health every second or two. While all is well, that is no news.
    const level = status < 400 && !route.startsWith('/v1/') ? 'debug' : 'info';
    request.log[level](line, 'request');
  }

  /** What came was no request. */
  broken(refusal: Refusal, peer: string | undefined): void {
    const line = { route: 'unknown', ...refusal };
    this.#metrics.request(line);
    this.#log.info({ ...line, outcome: 'error', peer }, 'request');
  }
}

interface RequestLine {
  readonly route: string;
  readonly status: number;
  readonly [field: string]: unknown;
}

function requestLine(request: FastifyRequest, reply: FastifyReply): RequestLine {
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
    durationMs: tenths(reply.elapsedTime),
  };
}
