import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { NodeSDK, type NodeSDKConfiguration, resources } from '@opentelemetry/sdk-node';
import { Redis } from 'ioredis';
import type { ShutdownStep } from './shutdown.ts';

/**
 * Starts OpenTelemetry's SDK, which reads its own variables:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/.
 * @param service its name in the traces, unless OTEL_SERVICE_NAME gives another  @returns the step that sends what is left, at the end
 */
export function startTraceExport(
  service: string,
  instrumentations: NonNullable<NodeSDKConfiguration['instrumentations']> = [],
): ShutdownStep {
  // Only the commands' names: arguments hold audio and text.
  const redis = new IORedisInstrumentation({ dbStatementSerializer: (command) => command });
  const sdk = new NodeSDK({
    resource: resources.resourceFromAttributes({ 'service.name': service }),
    instrumentations: [redis, ...instrumentations],
    // Metrics and logs have their own ways out: /metrics, and standard output.
    metricReaders: [],
    logRecordProcessors: [],
  });
  sdk.start();
  // The SDK patches what is loaded after it by `require`. This program has loaded ioredis already, by `import`.
  for (const { patch } of redis.getModuleDefinitions()) patch?.(Redis);
  return { name: 'traces', run: () => sdk.shutdown() };
}
