import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly contentType: string;
  readonly body: Buffer;
}

/** Answers one HTTP request. */
export type HttpScript = (response: ServerResponse, request: SeenRequest) => void;
/** Plays the service's part of one stream. */
export type StreamScript = (session: ScriptedSession) => void;

/**
 * A server on real sockets that answers as the test says, for what the real service does rarely or never:
 * proxies' pages, broken connections, closes without a word. The last HTTP script answers all further
 * requests.
 */
export class ScriptedService {
  readonly requests: SeenRequest[] = [];
  readonly sessions: ScriptedSession[] = [];
  http: HttpScript[] = [];
  stream: StreamScript[] = [];
  /** Answers the handshake itself instead of opening a stream. */
  handshake: ((socket: Socket, request: IncomingMessage) => void) | undefined;
  readonly #server: Server;
  readonly #connections = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<ScriptedService> {
    const server = createServer();
    const service = new ScriptedService(server);
    server.on('connection', (socket: Socket) => {
      service.#connections.add(socket);
      socket.on('close', () => service.#connections.delete(socket));
    });
    server.on('request', (request, response) => void service.#answer(request, response));
    const sockets = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket: Socket, head) => {
      if (service.handshake) return service.handshake(socket, request);
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        const session = new ScriptedSession(webSocket, request);
        service.sessions.push(session);
        const script = service.stream.length > 1 ? service.stream.shift() : service.stream[0];
        script?.(session);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return service;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async stop(): Promise<void> {
    this.#server.close();
    for (const socket of this.#connections) socket.destroy();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      authorization: request.headers.authorization,
      contentType: request.headers['content-type'] ?? '',
      body: Buffer.concat(parts),
    };
    this.requests.push(seen);
    const script = this.http.length > 1 ? this.http.shift() : this.http[0];
    if (!script) throw new Error(`no answer scripted for ${seen.path}`);
    script(response, seen);
  }
}

/** The service's end of one stream. */
export class ScriptedSession {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** Control messages as they came. */
  readonly control: Record<string, unknown>[] = [];
  readonly frames: Buffer[] = [];
  readonly closed: Promise<number>;

  constructor(socket: WebSocket, request: IncomingMessage) {
    this.socket = socket;
    this.request = request;
    this.closed = new Promise((resolve) => socket.on('close', (code) => resolve(code)));
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.frames.push(data);
      else this.control.push(JSON.parse(data.toString()));
    });
  }

  get pcm(): Buffer {
    return Buffer.concat(this.frames);
  }

  say(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  ready(): void {
    this.say({ type: 'ready', session_id: 'a'.repeat(32), chunk_ms: 500 });
  }

  fail(code: string, closeCode: number): void {
    this.say({ type: 'error', code, message: `told: ${code}` });
    this.socket.close(closeCode);
  }

  /** Calls back for each message of the client: `start`, `audio` or `end`. */
  on(kind: 'start' | 'audio' | 'end', then: () => void): this {
    this.socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary ? kind === 'audio' : JSON.parse(data.toString()).type === kind) then();
    });
    return this;
  }
}

export const json =
  (status: number, body: unknown): HttpScript =>
  (response) => {
    response.writeHead(status, { 'content-type': 'Application/JSON; charset=utf-8' });
    response.end(JSON.stringify(body));
  };

export const html =
  (status: number, body: string): HttpScript =>
  (response) => {
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
    response.end(body);
  };

export const drop: HttpScript = (response) => response.socket?.destroy();

/** A service that recognizes everything as `text`, with a partial after the first frame. */
export const recognizeAs =
  (text: string): StreamScript =>
  (session) => {
    session
      .on('start', () => session.ready())
      .on('audio', () => {
        if (session.frames.length === 1)
          session.say({ type: 'partial', revision: 1, text: text.slice(0, 1) });
      })
      .on('end', () => {
        const audio_ms = Math.round(session.pcm.length / 32);
        session.say({ type: 'final', revision: 2, text, audio_ms, finalize_ms: 1.5 });
        session.socket.close(1000);
      });
  };
