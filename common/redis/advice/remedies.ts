/** What to do about a key of the service that another program has written. */
export const FOREIGN_KEY =
  'another program writes under ASR_KEY_PREFIX: choose another prefix, or stop it and delete the keys there';

/** What to do about what Redis answers, or what a connection to it reports. The first sign that fits counts. */
const REMEDIES: readonly [sign: RegExp, todo: string][] = [
  [/WRONGPASS|NOAUTH/, 'correct user and password in REDIS_URL: redis://USER:PASSWORD@HOST:PORT'],
  [/NOPERM/, 'allow the user in REDIS_URL every command on the keys under ASR_KEY_PREFIX'],
  [/WRONGTYPE/, FOREIGN_KEY],
  [/DB index is out of range/, 'name a database that it has at the end of REDIS_URL, e.g. /0'],
  [/max number of clients/, 'raise its maxclients, or find who holds them: redis-cli CLIENT LIST'],
  [/\bOOM\b/, 'raise its maxmemory (the service needs less than 16 MB), or find what else fills it'],
  [/READONLY/, 'let REDIS_URL lead to the master'],
  [/NOREPLICAS/, 'bring its replicas back, or set min-replicas-to-write 0: the service needs none'],
  [/MISCONF|LOADING/, 'start it with --save "" --appendonly no: it need not keep anything'],
  [/CLUSTERDOWN/, 'find the missing nodes, and start them: redis-cli CLUSTER NODES'],
  [/cluster support disabled/, 'name it as no Cluster in REDIS_URL: redis://HOST:PORT'],
  // A Redis that lacks a command names it, and this one is sent to Sentinels alone.
  [
    /get-master-addr-by-name/,
    'name Sentinels in REDIS_URL (port 26379), or this one as a Redis: redis://HOST:PORT',
  ],
  [
    /unknown (redis )?command/i,
    'undo its rename-command; or name it as a Sentinel in REDIS_URL: redis+sentinel://HOST:PORT/MASTER',
  ],
  [/certificate required/, 'start it with --tls-auth-clients no: the service has no certificate'],
  [/certificate has expired/, 'renew its certificate'],
  [/certificate/, 'name its CA in NODE_EXTRA_CA_CERTS, and in REDIS_URL a host that its certificate names'],
  [/ECONNREFUSED|ENOTFOUND/, 'start it, or correct its address in REDIS_URL'],
  [
    /ECONNRESET|EPIPE/,
    'if it speaks TLS, begin REDIS_URL with rediss://; if its maxclients is reached, raise that',
  ],
  [/ETIMEDOUT/, 'correct its address in REDIS_URL; if it has no TLS, begin it with redis://'],
];

/** Redis itself has not answered: this may end without anybody's doing. */
const NO_ANSWER = /ECONNREFUSED|ENOTFOUND|ECONNRESET|EPIPE|ETIMEDOUT/;

/** @param reason in the words of Redis or of a connection. @returns undefined if nothing more is known than those say */
export function remedyFor(reason: string): string | undefined {
  return REMEDIES.find(([sign]) => sign.test(reason))?.[1];
}

/** Whether Redis refuses until somebody does something about it. */
export function isRefusal(reason: string): boolean {
  return remedyFor(reason) !== undefined && !NO_ANSWER.test(reason);
}

/**
 * The words of Redis or of a connection. A Cluster's client itself says only that no node would do. If a name has
 * several addresses, the error has no message at all.
 */
export function reasonOf(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map(String).join('; ');
  const node = 'lastNodeError' in error ? error.lastNodeError : undefined;
  return node instanceof Error ? `${error.message} ${node.message}` : error.message;
}
