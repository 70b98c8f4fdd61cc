import { randomBytes } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import { type FastifyBaseLogger, type FastifyHttpOptions, LogController } from 'fastify';
import type { ApiConfig } from '../../common/config/config.ts';
import { UPLOAD_DEADLINE_MS } from '../../common/uploads/upload-jobs.ts';
import { decodablePath } from './request-checks.ts';

/** Frames up to this size get the interface's own `invalid_frame`; a larger one is cut off by the WebSocket layer (1009). */
const MAX_WS_PAYLOAD_BYTES = 1024 * 1024;
export const WS_OPTIONS = {
  maxPayload: MAX_WS_PAYLOAD_BYTES,
  perMessageDeflate: false,
  /** Before the token is known. Each is kept as an object of its own: in bytes of one fragment each, 42 MB became 665 MB. */
  maxFragments: 256,
  /** One frame a turn: else 40 sockets that sent pongs kept `/healthz` waiting for over 7 s. */
  allowSynchronousEvents: false,
  /** How long, in ms, a peer may take to answer a close frame before its socket is destroyed. */
  closeTimeout: 5_000,
};
/** What the unfinished messages of all sockets may take, as the bodies of uploads by default. */
export const WS_MEMORY_BYTES = 32 * 1024 * 1024;
/**
 * Behind the upload's own time limit, which answers in the interface's form. In this time the rest of a slow upload is
 * read and dropped.
 */
const REQUEST_TIMEOUT_MARGIN_MS = 10_000;
const HEADERS_TIMEOUT_MS = 10_000;
/**
 * How long a connection without a request stays open. Longer than proxies keep theirs (nginx and AWS 60 s,
 * Traefik 90, Caddy 120, Google Cloud 600). Otherwise a proxy may send an upload into a connection that is
 * just being closed. It may not try again, and answers 502.
 */
const KEEP_ALIVE_MS = 620_000;
/** Node's own limit for the target and all headers. */
const MAX_HEADER_BYTES = 16_384;

/** The longest that the server has nothing to send on a connection: while the body comes in, and then while it is recognized. */
export function longestSilenceMs({ uploadTimeoutMs }: ApiConfig): number {
  return uploadTimeoutMs + REQUEST_TIMEOUT_MARGIN_MS + UPLOAD_DEADLINE_MS;
}

/**
 * The limits of connections and requests, and the settings for what Fastify would do differently from this service.
 * @param unreadMs how long an answer may stand still because its client does not read it
 * @param endingMs how long a shutdown waits at most
 * @param shouldUpgradeCallback which requests change to another protocol
 */
export function serverOptions(
  { uploadTimeoutMs, trustedProxies }: ApiConfig,
  unreadMs: number,
  endingMs: number,
  shouldUpgradeCallback: (request: IncomingMessage) => boolean,
): FastifyHttpOptions<Server, FastifyBaseLogger> {
  return {
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: () => randomBytes(16).toString('hex'),
    trustProxy: trustedProxies.length === 0 ? false : [...trustedProxies],
    requestTimeout: uploadTimeoutMs + REQUEST_TIMEOUT_MARGIN_MS,
    // How long a connection may stand still in both directions. Node looks once in that time, so it may last
    // twice as long. A WebSocket has its own clocks.
    connectionTimeout: unreadMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      // Node's own answer to a request without a Host header has no body.
      requireHostHeader: false,
      ...{ shouldUpgradeCallback },
    },
    // Fastify gives all preClose hooks this long (its default is 10 s). Then it would reset what they wait for.
    pluginTimeout: endingMs + 2_000,
    // Nothing is under way by then (see the preClose hook); kept-alive and never used connections are left.
    forceCloseConnections: true,
    // While this replica drains it serves what still comes, see stopListeningOnClose.
    return503OnClosing: false,
    rewriteUrl: ({ url = '/' }) => decodablePath(url),
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
  };
}
