import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const responses = new WeakMap<Duplex, ServerResponse>();

/** From now on the server's responses can be found by their connection. */
export function rememberResponses(server: Server): void {
  server.on('request', (request, response) => responses.set(request.socket, response));
}

/** @returns the response to the last request of this connection, sent or not */
export function lastResponseOn(socket: Duplex): ServerResponse | undefined {
  return responses.get(socket);
}
