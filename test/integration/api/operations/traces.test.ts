import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { fixture } from '../../../support/audio/fixtures.ts';
import { startRedis } from '../../../support/redis/redis.ts';
import { openStream, upload } from '../../../support/service/api.ts';
import { sendPaced, startApiProcess, startRealService } from '../../../support/service/real-service.ts';

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}
interface OtlpRequest {
  readonly resourceSpans: {
    readonly resource: { readonly attributes: { key: string; value: { stringValue?: string } }[] };
    readonly scopeSpans: { readonly spans: OtlpSpan[] }[];
  }[];
}

/** Takes traces as an OpenTelemetry collector does: OTLP over HTTP, here in its JSON form. */
async function startCollector() {
  const spans: (OtlpSpan & { service: string })[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as OtlpRequest;
    bodies.push(JSON.stringify(body));
    for (const { resource, scopeSpans } of body.resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
      spans.push(...scopeSpans.flatMap(({ spans }) => spans).map((span) => ({ ...span, service })));
    }
    response.setHeader('content-type', 'application/json').end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  return { url, spans, bodies };
}

test('one trace has an upload, its slot, its job and its model call; another a stream; neither a text', async () => {
  const collector = await startCollector();
  const service = await startRealService({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
  onTestFinished(() => service.stop());
  const { wav, pcm, text } = fixture('e12');
  expect(await upload(service.origin, wav)).toMatchObject({ status: 200, body: { text } });
  const client = await openStream(service.wsUrl);
  await sendPaced(client, pcm, 3_200, 50);
  client.end();
  expect(await client.message('final')).toMatchObject({ text });

  /** The names from a model call up to the beginning of its trace. */
  const waysUp = (): string[] =>
    collector.spans
      .filter(({ name }) => name === 'model call')
      .map((call) => {
        const way: string[] = [];
        let span: (typeof collector.spans)[number] | undefined = call;
        while (span !== undefined) {
          const { service, name, traceId, parentSpanId }: typeof call = span;
          way.push(`${service} ${name}`);
          span = collector.spans.find((other) => other.traceId === traceId && other.spanId === parentSpanId);
        }
        return way.join(' < ');
      });
  const inference = 'asr-inference model call < asr-inference recognition';
  await expect
    .poll(waysUp)
    .toEqual(
      expect.arrayContaining([
        `${inference} < asr-api POST /v1/audio/transcriptions`,
        `${inference} < asr-api stream`,
      ]),
    );
  expect(new Set(collector.spans.map(({ name }) => name))).toContain('slot');
  expect(collector.bodies.join()).not.toContain(text);
});

/** Prints at the end which OpenTelemetry packages were loaded. */
const TELL = `import { createRequire } from 'node:module';
  const { cache } = createRequire('/');
  process.on('exit', () => {
    const names = Object.keys(cache).map((path) => /node_modules.(@(?:opentelemetry|fastify).[^/]*)/.exec(path)?.[1]);
    console.error('LOADED ' + [...new Set(names)].join(' '));
  });`;

test('with none of its variables set, no SDK is loaded', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const { process } = await startApiProcess({
    REDIS_URL: redis.url,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELL)}`,
  });
  process.kill('SIGTERM');
  await process.exited;
  expect(process.stderr).toMatch(/LOADED .*@opentelemetry\/api/);
  expect(process.stderr).not.toMatch(/sdk|@fastify\/otel|instrumentation/);
});
