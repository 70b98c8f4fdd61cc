import { Counter, Histogram, Registry } from 'prom-client';
import { CLOSE_CODE, HTTP_STATUS } from '../../common/errors/errors.ts';
import type { StreamSummary } from '../streams/session-figures.ts';
import type { Transcription } from '../uploads/transcriber.ts';
import type { ServiceStateReader } from './service-state.ts';
import { storeGauges } from './store-gauges.ts';

interface AnsweredRequest {
  readonly route: string;
  readonly status: number;
  readonly code: string | undefined;
  /** What never became a request has none. */
  readonly durationMs?: number;
  readonly recognized?: Omit<Transcription, 'text'> | undefined;
}

/**
 * Prometheus metrics of one API replica. The gauges are read from the store when they are scraped, so every
 * replica shows the same ones.
 */
export class ApiMetrics {
  readonly registry = new Registry();
  readonly #requests = new Counter({
    name: 'asr_http_requests_total',
    help: 'HTTP requests by route and status',
    labelNames: ['route', 'status', 'code'] as const,
    registers: [this.registry],
  });
  readonly #requestSeconds = new Histogram({
    name: 'asr_http_request_duration_seconds',
    help: 'Duration of HTTP requests by route',
    labelNames: ['route'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 100],
    registers: [this.registry],
  });
  readonly #sessions = new Counter({
    name: 'asr_stream_sessions_total',
    help: 'Stream sessions by outcome and error code',
    labelNames: ['outcome', 'code'] as const,
    registers: [this.registry],
  });
  readonly #queueSeconds = new Histogram({
    name: 'asr_queue_wait_seconds',
    help: 'From the request for the slot until an inference process has the recording; of uploads also the way back',
    labelNames: ['via'] as const,
    buckets: [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30, 60],
    registers: [this.registry],
  });
  readonly #firstPartialSeconds = new Histogram({
    name: 'asr_stream_first_partial_seconds',
    help: 'From the first audio of a stream to its first partial',
    buckets: [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10],
    registers: [this.registry],
  });
  readonly #finalizeSeconds = new Histogram({
    name: 'asr_stream_finalize_seconds',
    help: 'From the receipt of end to the final',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers: [this.registry],
  });
  readonly #audioSeconds = new Counter({
    name: 'asr_audio_seconds_total',
    help: 'Audio that was recognized to its end',
    labelNames: ['via'] as const,
    registers: [this.registry],
  });
  readonly #inferenceSeconds = new Histogram({
    name: 'asr_upload_inference_seconds',
    help: 'Time that the model took for an upload',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });
  readonly #takeovers = new Counter({
    name: 'asr_stream_takeovers_total',
    help: 'Takeovers of sessions by another inference process',
    registers: [this.registry],
  });

  /** Reads the gauges from the store. */
  readonly refresh: () => Promise<void>;

  constructor({ state }: { readonly state: ServiceStateReader }) {
    this.refresh = storeGauges(this.registry, state);
    this.#beginAtZero();
  }

  /**
   * Prometheus sees no rise in a series that begins with 1: rate() and increase() would miss the first of
   * each kind after every start.
   */
  #beginAtZero(): void {
    const route = '/v1/audio/transcriptions';
    const others = { '': 200, validation: 422, client_gone: 499, server_error: 500, too_many_uploads: 503 };
    for (const [code, status] of Object.entries({ ...HTTP_STATUS, ...others }))
      this.#requests.inc({ route, status: String(status), code }, 0);
    for (const code of [...Object.keys(CLOSE_CODE), 'protocol_error'])
      this.#sessions.inc({ outcome: 'error', code }, 0);
    for (const outcome of ['final', 'disconnected']) this.#sessions.inc({ outcome, code: '' }, 0);
    for (const via of ['http', 'ws']) {
      this.#audioSeconds.inc({ via }, 0);
      this.#queueSeconds.zero({ via });
    }
    this.#requestSeconds.zero({ route });
  }

  request({ route, status, code, durationMs, recognized }: AnsweredRequest): void {
    this.#requests.inc({ route, status: String(status), code: code ?? '' });
    if (durationMs !== undefined) this.#requestSeconds.observe({ route }, durationMs / 1000);
    if (!recognized) return;
    this.#audioSeconds.inc({ via: 'http' }, recognized.audioMs / 1000);
    this.#inferenceSeconds.observe(recognized.inferenceMs / 1000);
    this.#queueSeconds.observe({ via: 'http' }, recognized.queueMs / 1000);
  }

  session(summary: StreamSummary): void {
    this.#sessions.inc({ outcome: summary.outcome, code: summary.code ?? '' });
    this.#takeovers.inc(summary.takeovers);
    if (summary.outcome === 'final') this.#audioSeconds.inc({ via: 'ws' }, summary.audioMs / 1000);
    const { queueMs, firstPartialMs, finalizeMs } = summary;
    if (queueMs !== undefined) this.#queueSeconds.observe({ via: 'ws' }, queueMs / 1000);
    if (firstPartialMs !== undefined) this.#firstPartialSeconds.observe(firstPartialMs / 1000);
    if (finalizeMs !== undefined) this.#finalizeSeconds.observe(finalizeMs / 1000);
  }
}
