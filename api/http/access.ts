import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { loopbackAddresses } from '../../common/config/addresses.ts';
import { ClientGone, ServiceFailure } from '../../common/errors/errors.ts';
import { BearerToken } from '../../common/process/bearer-token.ts';

/** Who may come in: peer address, shared token, browser Origin. Answers yes or no; its two hooks refuse for the routes. */
export class Access {
  readonly #peers = loopbackAddresses();
  readonly #token: BearerToken;
  readonly #origins: Set<string>;

  /** @param allowedClients single addresses besides loopback. @param allowedOrigins browser origins that may open the stream */
  constructor(allowedClients: readonly string[], apiToken: string, allowedOrigins: readonly string[]) {
    for (const client of allowedClients) this.#peers.addAddress(client, isIP(client) === 4 ? 'ipv4' : 'ipv6');
    this.#token = new BearerToken(apiToken);
    this.#origins = new Set(allowedOrigins);
  }

  /**
   * A dual-stack socket shows an IPv4 address as IPv6; a BlockList takes it as the IPv4 one.
   * @param peer undefined when the connection has been reset
   */
  allowsPeer(peer: string | undefined): boolean {
    if (peer === undefined) return false;
    const family = isIP(peer);
    return family !== 0 && this.#peers.check(peer, family === 4 ? 'ipv4' : 'ipv6');
  }

  allowsToken(token: string): boolean {
    return this.#token.is(token);
  }

  /** @param authorization the header's value */
  allowsHeader(authorization: string | undefined): boolean {
    return this.#token.isIn(authorization);
  }

  /** Adds the service's own origins. They are known only when it listens: with ASR_PORT=0 the system chooses the port. */
  allowOrigins(origins: readonly string[]): void {
    for (const origin of origins) this.#origins.add(origin);
  }

  /** Server-side callers send no Origin. */
  allowsOrigin(origin: string | undefined): boolean {
    return origin === undefined || this.#origins.has(origin);
  }

  /** Hook for every path but /healthz: 403 for a peer that is not on the list. */
  readonly checkPeer = async (request: FastifyRequest): Promise<void> => {
    if (request.routeOptions.url === '/healthz' || this.allowsPeer(request.ip)) return;
    // A connection that has been reset has no address any more. Its client does not count as refused.
    if (request.ip === undefined) throw new ClientGone('the client hung up before it was looked at');
    throw new ServiceFailure(
      'forbidden',
      `the address ${request.ip} is not on this server's list of allowed clients`,
    );
  };

  /** Hook of the routes that need the token: 401. */
  readonly checkToken = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (this.allowsHeader(request.headers.authorization)) return;
    reply.header('WWW-Authenticate', 'Bearer');
    const { authorization } = request.headers;
    const found =
      authorization === undefined
        ? 'there is no Authorization header'
        : /^Bearer /i.test(authorization)
          ? 'the token is wrong'
          : 'the Authorization header does not begin with "Bearer "';
    throw new ServiceFailure('unauthorized', `${found}; send "Authorization: Bearer <API_TOKEN>"`);
  };
}

/** Hook: an Authorization header without a value counts as none. The stream's token may still come in `start`. */
export async function dropEmptyAuthorization({ raw: { headers } }: FastifyRequest): Promise<void> {
  if (headers.authorization?.trim() === '') delete headers.authorization;
}

/**
 * Hook in front of all that looks at the peer. Several load balancers (Azure's application gateway, IIS)
 * write `address:port` into X-Forwarded-For, with IPv6 in brackets. An address with a port is on no list.
 */
export async function dropForwardedPorts({ raw: { headers } }: FastifyRequest): Promise<void> {
  const hops = headers['x-forwarded-for'];
  if (typeof hops !== 'string') return;
  headers['x-forwarded-for'] = hops
    .split(',')
    .map((hop) => hop.replace(/^\s*(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?\s*$/, '$1$2'))
    .join(',');
}
