import { context, propagation, ROOT_CONTEXT, type Span, SpanStatusCode, trace } from '@opentelemetry/api';

/** One step of a recording in its trace. Where no SDK runs (trace-export.ts), it does nothing. */
export class TraceSpan {
  readonly #span: Span;
  readonly #context;

  /** @param parent the trace it belongs to, as a `traceparent` (W3C Trace Context); none: what is going on now */
  constructor(name: string, parent?: string) {
    const around =
      parent === undefined ? context.active() : propagation.extract(ROOT_CONTEXT, { traceparent: parent });
    this.#span = trace.getTracer('chinese-asr-server').startSpan(name, {}, around);
    this.#context = trace.setSpan(around, this.#span);
  }

  /** Runs `work` as a part of this step. */
  run<T>(work: () => T): T {
    return context.with(this.#context, work);
  }

  end(error?: unknown): void {
    if (error !== undefined)
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : '' });
    this.#span.end();
  }
}

/** Runs `work` as one step. The trace gets its error's name, never its message: a message may quote what a client sent. */
export async function inSpan<T>(name: string, work: () => Promise<T>, parent?: string): Promise<T> {
  const span = new TraceSpan(name, parent);
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** The `traceparent` of what is going on now, for another process; undefined if nothing is traced. */
export function traceparent(): string | undefined {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent;
}
