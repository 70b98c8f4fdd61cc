import { FastifyOtelInstrumentation } from '@fastify/otel';
import type { ShutdownStep } from '../../common/process/shutdown.ts';
import { startTraceExport } from '../../common/process/trace-export.ts';

/** Traces of the requests, and of what they lead to. */
export function startTracing(): ShutdownStep {
  const fastify = new FastifyOtelInstrumentation({
    registerOnInitialization: true,
    ignorePaths: '/healthz',
    instrumentHooks: false,
    instrumentHandler: false,
    // Its own name for each is "request".
    requestHook: (span, { method, routeOptions: { url } }) =>
      span.updateName(`${method} ${url ?? ''}`.trim()),
  });
  return startTraceExport('asr-api', [fastify]);
}
