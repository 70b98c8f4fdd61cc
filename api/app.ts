import { randomBytes } from 'node:crypto';
import websocket from '@fastify/websocket';
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from 'fastify';
import { MAX_MULTIPART_BYTES } from '../common/audio/limits.ts';
import type { ApiConfig } from '../common/config.ts';
import type { Logger } from '../common/log.ts';
import { UPLOAD_DEADLINE_MS } from '../common/uploads/upload-jobs.ts';
import { dropForwardedPorts } from './access.ts';
import { InFlight, KEPT_CONNECTIONS_MS, stopListeningOnClose } from './in-flight.ts';
import type { ApiMetrics } from './metrics.ts';
import { registerOpenApi } from './openapi.ts';
import { PipelinedRequests } from './pipelined-requests.ts';
import {
  type Refusal,
  replyNotFound,
  replyToBrokenHandshake,
  replyToBrokenHttp,
  replyWithError,
  requestLine,
} from './replies.ts';
import { decodablePath, refuseStrayHandshake, requireHost, sayThatRefusalsClose } from './request-checks.ts';
import { docsRoutes } from './routes/docs.ts';
import { healthRoutes } from './routes/health.ts';
import { streamRoute } from './routes/stream.ts';
import { transcriptionRoutes } from './routes/transcriptions.ts';
import type { ApiServices } from './services.ts';
import { STREAM_TIMEOUTS, type StreamTimeouts } from './stream-clocks.ts';
import { takeUpgrades, UPGRADE_OPTIONS } from './upgrades.ts';

/** Frames up to this size get the interface's own `invalid_frame`; a larger one is cut off by the WebSocket layer (1009). */
const MAX_WS_PAYLOAD_BYTES = 1024 * 1024;
const WS_OPTIONS = {
  maxPayload: MAX_WS_PAYLOAD_BYTES,
  perMessageDeflate: false,
  /** Enough for the longest legal message byte by byte. Each is kept with an object of its own, a hundred times its size, before the token is known. */
  maxFragments: 4_096,
  /** How long, in ms, a peer may take to answer a close frame before its socket is destroyed. */
  closeTimeout: 5_000,
};
/** Backstop behind the upload's own time limit, which answers in the interface's form. */
const REQUEST_TIMEOUT_MARGIN_MS = 10_000;
const HEADERS_TIMEOUT_MS = 10_000;
/**
 * How long a connection without a request stays open: longer than a proxy in front keeps it (nginx and AWS 60 s, Traefik 90, Caddy 120, Google Cloud 600). Whoever
 * writes an upload into one that is just being closed gets a reset, which it may not answer with another try: its client's 502.
 */
const KEEP_ALIVE_MS = 620_000;
/** Node's own limit for the target and all headers. */
const MAX_HEADER_BYTES = 16_384;
/** How long a shutdown waits for what is under way: the longest stream session (40 s) ends by itself in it, and all uploads but the slowest do. */
export const DRAIN_MS = 42_000;

export interface AppParts {
  readonly config: ApiConfig;
  readonly services: ApiServices;
  readonly metrics: ApiMetrics;
  readonly log: Logger;
  readonly streamTimeouts?: StreamTimeouts;
  /** How long an answer may stand still because its client does not read it, in milliseconds. */
  readonly unreadMs?: number;
  /** For how long a shutdown serves what comes on kept connections when nothing else is left to do, in milliseconds. */
  readonly keptMs?: number;
  /** How long a shutdown waits for what is under way, in milliseconds. */
  readonly drainMs?: number;
}

/** The whole HTTP and WebSocket interface on given services; it does not listen and opens nothing itself. */
export async function buildApp({
  config,
  services,
  metrics,
  log,
  streamTimeouts = STREAM_TIMEOUTS,
  // For longer the server itself is never silent: while the body comes in, and then while it is recognized.
  unreadMs = config.uploadTimeoutMs + REQUEST_TIMEOUT_MARGIN_MS + UPLOAD_DEADLINE_MS,
  keptMs = KEPT_CONNECTIONS_MS,
  drainMs = DRAIN_MS,
}: AppParts): Promise<FastifyInstance> {
  const requestTimeout = config.uploadTimeoutMs + REQUEST_TIMEOUT_MARGIN_MS;
  const logger: FastifyBaseLogger = log;
  const pipelined = new PipelinedRequests();
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => randomBytes(16).toString('hex'),
    requestIdHeader: false,
    trustProxy: config.trustedProxies.length === 0 ? false : [...config.trustedProxies],
    bodyLimit: MAX_MULTIPART_BYTES,
    requestTimeout,
    // How long a connection may stand still in both directions. Node looks once in that time, so it may last twice as long; a WebSocket has its own clocks.
    connectionTimeout: unreadMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      requestTimeout,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      // Node's own answer to a request without one has no body.
      requireHostHeader: false,
      ...UPGRADE_OPTIONS,
    },
    // Fastify gives all preClose hooks this long, by itself 10 s, and would then reset what they wait for.
    pluginTimeout: keptMs + drainMs + 2_000,
    // Nothing is under way by then (see the preClose hook); kept-alive and never used connections are left.
    forceCloseConnections: true,
    // While this replica drains it serves what still comes, see stopListeningOnClose.
    return503OnClosing: false,
    clientErrorHandler: (error, socket) =>
      void pipelined.broken(error, socket, (current) => {
        const refusal = replyToBrokenHttp(error, socket, current);
        if (refusal === undefined || (current && inFlight.refused(current, refusal))) return;
        // A connection on which nothing was ever sent, such as a browser makes in advance, is no request.
        if (socket.bytesRead > 0) reportBroken(refusal, socket.remoteAddress);
      }),
    rewriteUrl: ({ url = '/' }) => decodablePath(url),
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
  });

  // No limit to the number of headers, as their bytes are limited: of more than 2,000, Node would drop the last ones without a word, such as a proxy's
  // X-Forwarded-For, or Content-Length.
  app.server.maxHeadersCount = 0;
  // Only an upload's handler reads a body, bounded and counted, whatever its type says it is; no other path looks at one. Fastify would refuse a malformed
  // type before that handler could say 503 or 413, and on a path that does not exist: it does not see the type.
  app.addHook('onRequest', async ({ raw }) => void delete raw.headers['content-type']);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setErrorHandler(replyWithError);
  app.setNotFoundHandler(replyNotFound);
  await registerOpenApi(app, config.publicBaseUrl);
  // In front of the plugin's own hook, from which on it answers no handshake.
  stopListeningOnClose(app);
  const upgrades = takeUpgrades(app.server, pipelined);
  app.addHook('preClose', async () => {
    // Kept connections bring requests for as long as streams are waited for, and those have their answers, too.
    await inFlight.drained(drain.drain(drainMs), keptMs, keptMs + drainMs);
    upgrades.endWaiting();
  });
  await app.register(websocket, {
    options: { ...WS_OPTIONS, server: upgrades.handshakes },
    // ws has closed the connection already, with the code that says why.
    errorHandler: (error, _socket, request) =>
      request.log.debug({ err: error }, 'a WebSocket connection broke'),
    // The sessions end in this app's own preClose, those with a recording last.
    preClose: (done) => done(),
  });

  pipelined.watch(app.server);
  app.websocketServer.on('wsClientError', (error, socket, request) =>
    inFlight.refusedHandshake(request, replyToBrokenHandshake(error, socket)),
  );
  // HTTP lets a server ignore an expectation that it does not know; Node's own refusal has no body. The one it knows is answered where the body is read.
  for (const expectation of ['checkExpectation', 'checkContinue'])
    app.server.on(expectation, (request, response) => app.server.emit('request', request, response));

  // These come behind the plugin's own hook, which marks a handshake so that its socket is closed when it is refused.
  const inFlight = new InFlight(app, (request, reply) => {
    const line = requestLine(request, reply);
    const { route, status } = line;
    const { failureCode: code, recognized } = request;
    metrics.request({ route, status, code, durationMs: reply.elapsedTime, recognized });
    // A load balancer asks for the health every second or two; that is no news while it is well.
    const level = status < 400 && !route.startsWith('/v1/') ? 'debug' : 'info';
    request.log[level](line, 'request');
  });
  const reportBroken = (refusal: Refusal, peer: string | undefined): void => {
    const line = { route: 'unknown', ...refusal };
    metrics.request(line);
    log.info({ ...line, outcome: 'error', peer }, 'request');
  };
  app.addHook('onRequest', sayThatRefusalsClose);
  app.addHook('onRequest', dropForwardedPorts);
  app.addHook('onRequest', pipelined.inTurn);
  app.addHook('onRequest', services.access.checkPeer);
  app.addHook('onRequest', requireHost);
  app.addHook('onRequest', refuseStrayHandshake);

  await app.register(healthRoutes(services));
  await app.register(transcriptionRoutes(services, config.uploadTimeoutMs));
  await app.register(docsRoutes(config.publicBaseUrl));
  const drain = streamRoute(app, {
    services,
    timeouts: streamTimeouts,
    onEnd: (summary) => metrics.session(summary),
  });
  return app;
}
