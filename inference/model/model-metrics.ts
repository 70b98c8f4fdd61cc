import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ModelInfo } from '../recognizer.ts';

/** `upload`: a whole recording. `update`: a stream on its way. `final`: a stream's last update. */
const CALLS = ['upload', 'update', 'final'] as const;
export type ModelCallKind = (typeof CALLS)[number];

/**
 * What one inference process tells Prometheus about its model. Its time per second of audio is the rate of
 * the durations' sum over that of the audio.
 */
export class ModelMetrics {
  readonly registry = new Registry();
  readonly #seconds = new Histogram({
    name: 'asr_model_call_duration_seconds',
    help: 'Duration of model calls that returned',
    labelNames: ['call'] as const,
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [this.registry],
  });
  readonly #audioSeconds = new Counter({
    name: 'asr_model_audio_seconds_total',
    help: 'Audio that these calls were the first to take in',
    labelNames: ['call'] as const,
    registers: [this.registry],
  });
  readonly #info = new Gauge({
    name: 'asr_model_info',
    help: 'The model that is loaded; the value is always 1',
    labelNames: ['model', 'family', 'provider'] as const,
    registers: [this.registry],
  });

  constructor() {
    // Prometheus sees no rise in a series that begins with 1.
    for (const call of CALLS) {
      this.#seconds.zero({ call });
      this.#audioSeconds.inc({ call }, 0);
    }
  }

  loaded({ id, family, provider }: ModelInfo): void {
    this.#info.set({ model: id, family, provider }, 1);
  }

  /** @param durationMs of a call that returned. @param audioMs that was new in it */
  called(call: ModelCallKind, durationMs: number, audioMs: number): void {
    this.#seconds.observe({ call }, durationMs / 1000);
    this.#audioSeconds.inc({ call }, audioMs / 1000);
  }
}
