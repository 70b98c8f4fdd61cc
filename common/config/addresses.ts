import { BlockList, isIP } from 'node:net';
import { fail } from './config-error.ts';

const NOT_HTTP = 'must begin with http:// or https://';

/**
 * @param value `null` (a local file or a sandboxed page in a browser), `file://` (a local file in an app), or
 * scheme, host and port
 * @returns it as clients write it into their Origin header. @throws ConfigError
 */
export function browserOrigin(name: string, value: string): string {
  if (value === 'null' || value === 'file://') return value;
  if (/^file:/i.test(value))
    fail(name, value, 'names one file: write null (local files in a browser) or file:// (in an app)');
  const { protocol, host, href } = hostUrl(name, value);
  // Not its `origin`: WHATWG has "null" there for each scheme that it does not know, such as an app's.
  const origin = `${protocol}//${host}`;
  const path = href.slice(origin.length);
  if (path !== '' && path !== '/')
    fail(name, value, `has the path ${path}, but an origin is scheme, host and port alone: write ${origin}`);
  return origin;
}

/** @throws ConfigError */
function hostUrl(name: string, value: string): URL {
  if (!URL.canParse(value)) fail(name, value, 'must be an origin such as https://asr.example.com');
  const url = new URL(value);
  // Without a host: what stands before the colon was meant as one.
  if (!isHttp(url) && url.host === '') fail(name, value, NOT_HTTP);
  if (url.username !== '' || url.password !== '')
    fail(name, value.replace(/\/\/.*@/s, '//***@'), 'must be without a user and a password');
  // WHATWG takes almost any character in a host. A host with others than these is several addresses, or a pattern.
  if (!/^([\w.-]+|\[[\da-f:.]+\])$/i.test(url.hostname))
    fail(
      name,
      value,
      'must have a host such as asr.example.com; the entries of a list must be single origins, without *, separated by commas',
    );
  return url;
}

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

/** The service's own address, which everybody reads in the documents. @throws ConfigError */
export function baseUrl(name: string, value: string): URL {
  const url = hostUrl(name, value);
  if (!isHttp(url)) fail(name, value, NOT_HTTP);
  if (/[?#]/.test(value)) fail(name, value, 'must end with the path, without "?" and "#"');
  return url;
}

/** @param value a single IP address. @throws ConfigError */
export function address(name: string, value: string): string {
  if (isIP(value) === 0)
    fail(name, value, 'must be single IP addresses, separated by commas (no ranges, no names)');
  return value;
}

/** @param value an IP address or a CIDR range. @throws ConfigError */
export function proxy(name: string, value: string): string {
  const [ip = '', bits, ...rest] = value.split('/');
  const family = isIP(ip);
  const wide = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
  if (family === 0 || !wide || rest.length > 0)
    fail(name, value, 'must be IP addresses or CIDR ranges, separated by commas');
  // With /0 every peer would be a proxy, and any client could write what it likes into X-Forwarded-For.
  if (Number(bits) === 0)
    fail(
      name,
      value,
      'must be the addresses of the load balancers alone, not all there are: /0 would let any client write its own address',
    );
  return value;
}

/** The origins of the service's own page as browsers on this machine write them: no port 80, addresses in their short form. */
export function ownOrigins(host: string, port: number): string[] {
  return ['localhost', '127.0.0.1', host]
    .map((name) => localOrigin(name, port))
    .filter((url) => URL.canParse(url))
    .map((url) => new URL(url).origin);
}

/** Where this machine reaches a server that listens on `host`. */
export function localOrigin(host: string, port: number): string {
  switch (host) {
    case '0.0.0.0':
      return `http://127.0.0.1:${port}`;
    case '::':
      return `http://[::1]:${port}`;
    default:
      return host.includes(':') ? `http://[${host}]:${port}` : `http://${host}:${port}`;
  }
}

/** The addresses by which this machine reaches itself. */
export function loopbackAddresses(): BlockList {
  const list = new BlockList();
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addAddress('::1', 'ipv6');
  return list;
}

/** Whether this machine alone reaches a server that listens on `host`. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  return family === 0 ? host === 'localhost' : loopbackAddresses().check(host, `ipv${family === 4 ? 4 : 6}`);
}

/** Ports of other protocols, to which no browser and no `fetch` connects (Fetch standard, "bad port"). */
const BLOCKED: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10_080,
]);

export const isBlockedPort = (port: number): boolean => BLOCKED.has(port);
