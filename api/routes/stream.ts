import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { ServiceFailure, StoreUnavailable } from '../../common/errors/errors.ts';
import type { UnderWay } from '../../common/process/under-way.ts';
import { STREAM_PATH } from '../http/request-checks.ts';
import { WS_MEMORY_BYTES } from '../http/server-options.ts';
import type { ApiServices } from '../services.ts';
import { MessageMemory } from '../streams/message-memory.ts';
import type { StreamSummary } from '../streams/session-figures.ts';
import type { StreamTimeouts } from '../streams/stream-clocks.ts';
import { StreamConnection } from '../streams/stream-connection.ts';

interface StreamRouteOptions {
  readonly services: ApiServices;
  readonly timeouts: StreamTimeouts;
  /** Counts each session until its end. */
  readonly underWay: UnderWay;
  /** The open ones, for the shutdown. */
  readonly streams: Set<StreamConnection>;
  readonly onEnd: (summary: StreamSummary) => void;
}

/** GET /ws/asr: the handshake's checks, and the wiring of a socket to its connection. */
export function streamRoute(
  app: FastifyInstance,
  { services, timeouts, underWay, streams, onEnd }: StreamRouteOptions,
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
      const ended = underWay.begin();
      const connection = new StreamConnection({
        peer: {
          send: (message) => socket.send(JSON.stringify(message)),
          close: (code, reason) => socket.close(code, reason),
        },
        opener: services.streams,
        preauthorized: request.headers.authorization !== undefined,
        timeouts,
        onFault: (error) => {
          const { id: sessionId } = connection;
          if (error instanceof StoreUnavailable)
            request.log.warn({ reason: error.message, sessionId }, 'Redis did not answer a stream session');
          else
            request.log.error(
              { err: error, sessionId },
              'a stream session failed through a fault of the server',
            );
        },
        onEnd: (summary) => {
          ended();
          streams.delete(connection);
          request.log.info({ peer: request.ip, ...summary }, 'stream session');
          onEnd(summary);
        },
      });
      streams.add(connection);
      // It came on a connection that was kept, and the process ends.
      if (!app.server.listening) connection.shutDown();
      memory.watch(socket, request.socket, () => connection.crowdedOut());
      socket.on('message', (data: Buffer, isBinary: boolean) => {
        if (isBinary) connection.audio(data);
        else connection.text(data.toString('utf8'));
      });
      // A breach of the WebSocket protocol; the end of the connection is 'close'.
      socket.on('error', (breach) => connection.broken(breach.message));
      // The WebSocket layer ends our side when it has answered a close frame or a breach of the protocol.
      // Then it waits seconds for the peer's side.
      request.socket.once('finish', () => connection.disconnected());
      socket.on('close', () => connection.disconnected());
    },
  });
}
