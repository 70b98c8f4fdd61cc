import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** The response to the last request of each connection of a server, sent or not. */
export class LastResponses {
  readonly #responses = new WeakMap<Duplex, ServerResponse>();

  watch(server: Server): void {
    server.on('request', (request, response) => this.#responses.set(request.socket, response));
  }

  on(socket: Duplex): ServerResponse | undefined {
    return this.#responses.get(socket);
  }
}
