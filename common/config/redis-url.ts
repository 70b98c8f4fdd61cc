/** `REDIS_URL`, taken apart. */
export type RedisTarget =
  | { kind: 'single'; url: string }
  | { kind: 'sentinel'; sentinels: Address[]; name: string; options: Credentials }
  | { kind: 'cluster'; nodes: Address[]; options: Credentials };

interface Address {
  host: string;
  port: number;
}
interface Credentials {
  username?: string;
  password?: string;
  db?: number;
}

/**
 * `redis://`, `rediss://` (TLS), `redis+sentinel://[user:password@]host:port,host:port/master[/db]`,
 * `redis+cluster://[user:password@]host:port,host:port`.
 * @throws Error that says what is wrong with the address (without its password).
 */
export function parseRedisUrl(url: string): RedisTarget {
  const scheme = /^([a-z+]+):\/\//.exec(url)?.[1];
  switch (scheme) {
    case 'redis':
    case 'rediss':
      if (!URL.canParse(url))
        throw new Error('it is not a valid address (in a user or password, / is written %2F, # %23, ? %3F)');
      checkSingle(new URL(url));
      return { kind: 'single', url };
    case 'redis+sentinel':
    case 'redis+cluster': {
      const match =
        /^[a-z+]+:\/\/(?:(?<user>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^@/]+)(?:\/(?<name>[^@/]+))?(?:\/(?<db>\d+))?\/?$/.exec(
          url,
        );
      const groups = match?.groups;
      if (!groups)
        throw new Error(`it is not of the form ${scheme}://[user:password@]host:port,host:port/...`);
      const options: Credentials = {};
      if (groups['user']) options.username = decoded(groups['user']);
      if (groups['password']) options.password = decoded(groups['password']);
      if (groups['db']) options.db = Number(groups['db']);
      const defaultPort = scheme === 'redis+sentinel' ? 26_379 : 6_379;
      const hosts = (groups['hosts'] ?? '').split(',').map((host) => parseAddress(host, defaultPort));
      if (scheme === 'redis+cluster') {
        if (groups['name'])
          throw new Error(
            'a Cluster has no databases: nothing may follow its addresses (ASR_KEY_PREFIX keeps services apart)',
          );
        return { kind: 'cluster', nodes: hosts, options };
      }
      if (!groups['name'])
        throw new Error('the name of the Sentinel master is missing: redis+sentinel://host:port/NAME');
      return { kind: 'sentinel', sentinels: hosts, name: groups['name'], options };
    }
    default:
      throw new Error('it must begin with redis://, rediss://, redis+sentinel:// or redis+cluster://');
  }
}

/** Refuses what the client would take as it is and fail with later. */
function checkSingle({ username, password, pathname }: URL): void {
  decoded(username);
  decoded(password);
  if (!/^\/?\d*$/.test(pathname))
    throw new Error('only the number of a database may follow the address, such as /0');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('a % in the user or the password must be written as %25');
  }
}

function parseAddress(text: string, defaultPort: number): Address {
  const match = /^(?<host>\[[0-9a-fA-F:]+\]|[^:[\]]+)(?::(?<port>\d+))?$/.exec(text.trim());
  const host = match?.groups?.['host'];
  const port = Number(match?.groups?.['port'] ?? defaultPort);
  if (!host || port < 1 || port > 65_535) throw new Error(`"${text}" is not host:port`);
  return { host: host.replace(/^\[|\]$/g, ''), port };
}
