import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { PipelinedRequests } from './pipelined-requests.ts';

/**
 * Another protocol than WebSocket, above all `h2c`, which several HTTP clients offer with each request, is ignored as HTTP allows: the request is served as what it
 * is; so is a handshake with another method than GET, which is none.
 */
function isWebSocketHandshake({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * What Node's HTTP server is to be made with. Node 26 reads the body of a request that asks for another protocol before it hands the request over, so it could not be given
 * back any more; it is told beforehand which requests to hand over. Older versions are not, though 24.9 and newer would ask: of a request that is declined
 * so, Node drops what the same packet carries behind it.
 */
export const UPGRADE_OPTIONS =
  Number.parseInt(process.versions.node, 10) < 26 ? {} : { shouldUpgradeCallback: isWebSocketHandshake };

export interface Upgrades {
  /** Emits the handshakes as `upgrade`, for the WebSocket plugin to listen to. */
  readonly handshakes: Server;
  /** Ends the connections on which one waits: Node's server waits for them when it closes, and does not end them with its others, since it does not read them. */
  endWaiting(): void;
}

/**
 * Node hands a request that asks for another protocol over as an `upgrade`, without its body, also while a request before it is not answered yet. Only WebSocket
 * handshakes may go on as such, and such a one is closed behind that answer, since it cannot have the socket; the others are given back in their turn, to be read
 * again as requests.
 */
export function takeUpgrades(server: Server, pipelined: PipelinedRequests): Upgrades {
  const handshakes = createServer();
  const waiting = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    const before = pipelined.last(socket);
    // A response that is written keeps the socket until the next tick.
    const mustWait = before !== undefined && (before.socket !== null || !before.writableFinished);
    const detach = mustWait ? writeOn(socket, pipelined, waiting) : () => undefined;
    const giveBack = (): void => {
      // The socket's error may still be to come.
      if (socket.destroyed) return;
      detach();
      socket.unshift(Buffer.concat([withoutUpgrade(request), head]));
      server.emit('connection', socket);
    };
    if (!isWebSocketHandshake(request)) {
      if (mustWait) before.once('close', giveBack);
      else giveBack();
    } else if (mustWait) before.once('close', () => socket.destroy());
    else handshakes.emit('upgrade', request, socket, head);
  });
  return {
    handshakes,
    endWaiting: () => {
      for (const socket of waiting) socket.destroy();
    },
  };
}

/**
 * With the request Node takes its own listeners off the socket, on which the answers in front are still on their way: without these, one that is larger than what the
 * socket takes at once would stand still for ever, also for a client that reads it, and so would its connection, its file and a shutdown.
 * @param waiting has the socket meanwhile
 * @returns what takes them off again
 */
function writeOn(socket: Duplex, pipelined: PipelinedRequests, waiting: Set<Duplex>): () => void {
  const destroy = (): void => void socket.destroy();
  const drained = (): void => void pipelined.first(socket)?.emit('drain');
  const left = (): void => void waiting.delete(socket);
  waiting.add(socket);
  socket.on('error', destroy).on('timeout', destroy).on('drain', drained).on('close', left);
  return () => {
    left();
    socket.off('error', destroy).off('timeout', destroy).off('drain', drained).off('close', left);
  };
}

/** The request's head as it came in, less what asks for the other protocol. */
function withoutUpgrade({ method, url, httpVersion, rawHeaders, headers }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!/^(upgrade|connection)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  if (/\bclose\b/i.test(headers.connection ?? '')) lines.push('Connection: close');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
