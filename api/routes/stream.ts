import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { ServiceFailure, StoreUnavailable } from '../../common/errors/errors.ts';
import { endedWithin } from '../../common/process/shutdown.ts';
import { STREAM_PATH } from '../http/request-checks.ts';
import { WS_MEMORY_BYTES } from '../http/server-options.ts';
import type { ApiServices } from '../services.ts';
import { MessageMemory } from '../streams/message-memory.ts';
import type { StreamSummary } from '../streams/session-log.ts';
import type { StreamTimeouts } from '../streams/stream-clocks.ts';
import { StreamSession } from '../streams/stream-session.ts';

interface StreamRouteOptions {
  readonly services: ApiServices;
  readonly timeouts: StreamTimeouts;
  /** Hears of each session. */
  readonly drain: StreamDrain;
  readonly onEnd: (summary: StreamSummary) => void;
}

/** GET /ws/asr: the handshake's checks, and the wiring of a socket to its session. */
export function streamRoute(
  app: FastifyInstance,
  { services, timeouts, drain, onEnd }: StreamRouteOptions,
): void {
  const memory = new MessageMemory(WS_MEMORY_BYTES);
  app.route({
    method: 'GET',
    url: STREAM_PATH,
    schema: { hide: true },
    preValidation: async (request) => {
      const { authorization, origin } = request.headers;
      if (!services.access.allowsOrigin(origin)) {
        throw new ServiceFailure(
          'forbidden',
          `the origin ${origin} is not on this server's list (ASR_ALLOWED_ORIGINS)`,
        );
      }
      if (authorization !== undefined && !services.access.allowsHeader(authorization)) {
        throw new ServiceFailure('forbidden', 'the Authorization header is wrong; send "Bearer <API_TOKEN>"');
      }
    },
    handler: async (request, reply) => {
      request.failureCode = 'bad_request';
      const message =
        'this path speaks WebSocket only (a proxy in front must pass on Upgrade and Connection); plain HTTP has POST /v1/audio/transcriptions';
      // Our header takes the place of Node's own, which would say close if the client has asked for it.
      const connection = reply.raw.shouldKeepAlive ? 'upgrade' : 'upgrade, close';
      reply.code(426).headers({ Upgrade: 'websocket', Connection: connection });
      return reply.send({ error: 'bad_request', message });
    },
    wsHandler: (socket: WebSocket, request: FastifyRequest) => {
      const session = new StreamSession({
        peer: {
          send: (message) => socket.send(JSON.stringify(message)),
          close: (code, reason) => socket.close(code, reason),
        },
        opener: services.streams,
        preauthorized: request.headers.authorization !== undefined,
        timeouts,
        onFault: (error) => {
          const { id: sessionId } = session;
          if (error instanceof StoreUnavailable)
            request.log.warn({ reason: error.message, sessionId }, 'Redis did not answer a stream session');
          else
            request.log.error(
              { err: error, sessionId },
              'a stream session failed through a fault of the server',
            );
        },
        onEnd: (summary) => {
          drain.ended(session);
          request.log.info({ peer: request.ip, ...summary }, 'stream session');
          onEnd(summary);
        },
      });
      drain.began(session);
      memory.watch(socket, request.socket, () => session.crowdedOut());
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) session.audio(data);
        else session.text(data.toString('utf8'));
      });
      // A breach of the WebSocket protocol; the end of the connection is 'close'.
      socket.on('error', (breach) => session.broken(breach.message));
      // The WebSocket layer ends our side when it has answered a close frame or a breach of the protocol.
      // Then it waits seconds for the peer's side.
      request.socket.once('finish', () => session.disconnected());
      socket.on('close', () => session.disconnected());
    },
  });
}

/** The open sessions of this process, for its shutdown. */
export class StreamDrain {
  readonly #sessions = new Set<StreamSession>();
  #draining = false;
  #emptied: (() => void) | undefined;

  began(session: StreamSession): void {
    this.#sessions.add(session);
    if (this.#draining) session.shutDown();
  }

  ended(session: StreamSession): void {
    this.#sessions.delete(session);
    if (this.#sessions.size === 0) this.#emptied?.();
  }

  /**
   * Ends the connections without a recording at once, waits at most `drainMs` for the recordings under way,
   * then ends those too.
   */
  async drain(drainMs: number): Promise<void> {
    this.#draining = true;
    for (const session of this.#sessions) if (!session.recording) session.shutDown();
    if (this.#sessions.size > 0) {
      const emptied = new Promise<void>((resolve) => {
        this.#emptied = resolve;
      });
      await endedWithin(emptied, drainMs);
    }
    for (const session of this.#sessions) session.shutDown();
  }
}
