import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../common/log.ts';
import type { ApiMetrics } from './metrics.ts';
import { type Refusal, requestLine } from './replies.ts';

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
    // A load balancer asks for the health every second or two; that is no news while it is well.
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
