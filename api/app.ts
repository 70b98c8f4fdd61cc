import type { Server } from 'node:http';
import websocket from '@fastify/websocket';
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import type { ApiConfig } from '../common/config/config.ts';
import type { Logger } from '../common/process/log.ts';
import { UnderWay } from '../common/process/under-way.ts';
import { registerOpenApi } from './docs/openapi.ts';
import { dropEmptyAuthorization, dropForwardedPorts } from './http/access.ts';
import { replyToBrokenHttp } from './http/broken-http.ts';
import { Connections } from './http/connections.ts';
import { refuseOtherMethods, replyNotFound, replyWithError } from './http/error-replies.ts';
import { InFlight, KEPT_CONNECTIONS_MS, stopListeningOnClose } from './http/in-flight.ts';
import { checkHandshake, requireHost, sayThatRefusalsClose } from './http/request-checks.ts';
import { longestSilenceMs, serverOptions, WS_OPTIONS } from './http/server-options.ts';
import type { ApiMetrics } from './operations/metrics.ts';
import { RequestReports } from './operations/request-reports.ts';
import { docsRoutes } from './routes/docs.ts';
import { healthRoutes } from './routes/health.ts';
import { modelRoute } from './routes/model.ts';
import { streamRoute } from './routes/stream.ts';
import { transcriptionRoutes } from './routes/transcriptions.ts';
import type { ApiServices } from './services.ts';
import { STREAM_TIMEOUTS, type StreamTimeouts } from './streams/stream-clocks.ts';
import type { StreamConnection } from './streams/stream-connection.ts';
import { isFormType } from './uploads/upload.ts';

/**
 * How long a shutdown waits for what is under way. In this time the longest stream session (40 s) ends by
 * itself, and so do all uploads but the slowest.
 */
export const DRAIN_MS = 42_000;

interface AppParts {
  readonly config: ApiConfig;
  readonly services: ApiServices;
  readonly metrics: ApiMetrics;
  readonly log: Logger;
  readonly streamTimeouts?: StreamTimeouts;
  /** How long an answer may stand still because its client does not read it, in milliseconds. */
  readonly unreadMs?: number;
  /** How long a shutdown still serves what comes on kept connections once nothing else is left to do, in milliseconds. */
  readonly keptMs?: number;
  /** How long a shutdown waits for what is under way, in milliseconds. */
  readonly drainMs?: number;
}

/** Builds the whole HTTP and WebSocket interface on the given services. It does not listen, and opens nothing itself. */
export async function buildApp({
  config,
  services,
  metrics,
  log,
  streamTimeouts = STREAM_TIMEOUTS,
  unreadMs = longestSilenceMs(config),
  keptMs = KEPT_CONNECTIONS_MS,
  drainMs = DRAIN_MS,
}: AppParts): Promise<FastifyInstance> {
  const reports = new RequestReports(metrics, log);
  const connections = new Connections();
  const underWay = new UnderWay();
  const inFlight = new InFlight(underWay, (request, reply) => reports.ended(request, reply));
  const streams = new Set<StreamConnection>();
  const drain = async (): Promise<void> => {
    // Only recordings are waited for.
    for (const stream of streams) if (!stream.recording) stream.shutDown();
    // Kept connections still bring requests meanwhile. Those are answered, too.
    await underWay.quiet(keptMs, drainMs);
    for (const stream of streams) stream.shutDown();
  };
  // Of Fastify's own lines only the warnings: it says for each address where it listens, and `serving` says it once.
  const level = log.isLevelEnabled('warn') ? 'warn' : log.level;
  const logger: FastifyBaseLogger = log.child({}, { level });
  const app = fastify({
    ...serverOptions(config, unreadMs, drainMs, connections.isHandshake),
    loggerInstance: logger,
    childLoggerFactory: (_own, bindings, options) => log.child(bindings, options),
    clientErrorHandler: (error, socket) =>
      void connections.broken(error, socket, (current) => {
        const refusal = replyToBrokenHttp(error, socket, current);
        if (refusal === undefined || (current && inFlight.refused(current, refusal))) return;
        // A connection on which nothing was ever sent is no request: browsers open some in advance.
        if (socket.bytesRead > 0) reports.broken(refusal, socket.remoteAddress);
      }),
  });

  letAnyRequestIn(app.server);
  // Nobody but the upload's handler reads a body.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.setErrorHandler(replyWithError);
  app.setNotFoundHandler(replyNotFound);

  // Hooks run in the order of these lines, those of the plugins included.
  app.addHook('onRequest', takeAnyBody); // in front of Fastify's own look at the type
  const refuseMethods = refuseOtherMethods(app); // hears of each route from here on
  await registerOpenApi(app, config.publicBaseUrl); // describes each route from here on
  stopListeningOnClose(app); // first of a shutdown: a load balancer takes another replica at once
  app.addHook('preClose', drain); // in front of the WebSocket plugin's own: from there on it answers no handshake
  app.addHook('onRequest', connections.dropLate); // in front of InFlight: what is dropped is no request
  await takeHandshakes(app, connections.watch(app.server)); // marks handshakes, for all that follow
  inFlight.watch(app); // in front of all that refuses: refusals are counted and reported, too
  app.addHook('onRequest', sayThatRefusalsClose); // in front of all that refuses a handshake
  app.addHook('onRequest', dropForwardedPorts); // in front of all that looks at the peer
  app.addHook('onRequest', dropEmptyAuthorization); // in front of all that looks at the token
  app.addHook('onRequest', services.access.checkPeer); // the first that refuses: a stranger learns nothing else
  app.addHook('onRequest', requireHost); // for every path, as HTTP demands
  app.addHook('onRequest', checkHandshake); // the plugin would accept one on any path

  await app.register(healthRoutes(services));
  await app.register(transcriptionRoutes(services, config));
  await app.register(modelRoute(services));
  await app.register(docsRoutes(config.publicBaseUrl));
  streamRoute(app, {
    services,
    timeouts: streamTimeouts,
    underWay,
    streams,
    onEnd: (summary) => metrics.session(summary),
  });
  refuseMethods();
  return app;
}

/** Lets in what Node would refuse in a form of its own, before a handler of ours sees it. */
function letAnyRequestIn(server: Server): void {
  // No limit to the number of headers: their bytes are limited. Of more than 2,000 headers, Node would drop
  // the last ones without a word. Among them could be a proxy's X-Forwarded-For, or Content-Length.
  server.maxHeadersCount = 0;
  // HTTP lets a server ignore an expectation that it does not know. Node would refuse it without a body. The
  // one it knows is answered where the body is read.
  for (const expectation of ['checkExpectation', 'checkContinue'])
    server.on(expectation, (request, response) => server.emit('request', request, response));
  // A client may end its side after its request and still want the answer. Node has this switch, but no option for it.
  Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Hook: only the upload's handler reads a body, and it counts the bytes itself. Fastify would refuse a malformed
 * type, or QUERY without one, before that handler could say 503 or 413. It would do so even on paths that
 * do not exist. So Fastify sees a form, or else just bytes.
 */
async function takeAnyBody({ raw: { headers } }: FastifyRequest): Promise<void> {
  if (!isFormType(headers['content-type'])) headers['content-type'] = 'application/octet-stream';
}

async function takeHandshakes(app: FastifyInstance, server: Server): Promise<void> {
  await app.register(websocket, {
    options: { ...WS_OPTIONS, server },
    // ws has closed the connection already, with the code that says why.
    errorHandler: (error, _socket, request) =>
      request.log.debug({ err: error }, 'a WebSocket connection broke'),
    // The sessions end in this app's own preClose, those with a recording last.
    preClose: (done) => done(),
  });
}
