import { type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { describeCause, ModelFailure } from '../failure.ts';

/**
 * What requests go through: the proxies that the environment names.
 * @param connectTimeoutMs how long a connection may take; one to a proxy has undici's own 10 s
 * @throws ModelFailure when a proxy's address is none.
 */
export function makeDispatcher(env: NodeJS.ProcessEnv, connectTimeoutMs: number): Dispatcher {
  // Lower case first, as curl has it.
  const read = (name: string): string | undefined => env[name] ?? env[name.toUpperCase()];
  // '' keeps undici from reading the environment itself. What it calls SOCKS is curl's "socks5h": the proxy
  // looks names up.
  const proxy = (name: string): string =>
    (read(name) ?? read('all_proxy'))?.replace(/^socks5h:/i, 'socks5:') ?? '';
  try {
    return new EnvHttpProxyAgent({
      httpProxy: proxy('http_proxy'),
      httpsProxy: proxy('https_proxy'),
      noProxy: read('no_proxy') ?? '',
      connect: { timeout: connectTimeoutMs },
      // For http:// only; https:// has its tunnel all the same. A proxy may refuse a tunnel to port 80, as
      // Squid does.
      proxyTunnel: false,
      clientFactory: (address, options) => new Pool(address, options).compose(closedForGood),
    }).compose(closedInPeace);
  } catch (error) {
    // Without the value: it may hold a password.
    throw new ModelFailure(
      `HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not a proxy address (${describeCause(error)}): expected e.g. http://proxy.example:3128 or socks5://proxy.example:1080`,
    );
  }
}

/**
 * Undici 7 ends the whole process if a server closes its connection after the body while the body's reader is
 * behind (nodejs/undici#5360). Servers do so with HTTP/1.0 and with `Connection: close`. So only a connection
 * that stays open is told to wait for the disk. What waits in memory otherwise is less than the archive.
 */
export function closedInPeace(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) => {
    let staysOpen = false;
    return dispatch(options, {
      ...relayedTo(handler),
      onResponseStart: (controller, status, headers, statusText) => {
        const hasEnd = 'content-length' in headers || 'transfer-encoding' in headers;
        staysOpen = hasEnd && /^keep-alive$/i.test(String(headers['connection']));
        handler.onResponseStart?.(controller, status, headers, statusText);
      },
      onResponseData: (controller, chunk) => {
        handler.onResponseData?.(controller, chunk);
        if (!staysOpen) controller.resume();
      },
    });
  };
}

/**
 * A proxy may close the connection on which it is asked for a tunnel, such as a SOCKS proxy given as one for
 * HTTP. If the error says that it came from the socket, undici 7 asks again at once, and without end
 * (nodejs/undici#3897). So the error that is passed on says something else.
 */
function closedForGood(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) =>
    dispatch(options, {
      ...relayedTo(handler),
      onResponseError: (controller, error) =>
        handler.onResponseError?.(controller, new Error(`the proxy: ${error.message}`)),
    });
}

function relayedTo(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (...request) => handler.onRequestStart?.(...request),
    onRequestUpgrade: (...upgrade) => handler.onRequestUpgrade?.(...upgrade),
    onResponseStart: (...response) => handler.onResponseStart?.(...response),
    onResponseData: (...data) => handler.onResponseData?.(...data),
    onResponseEnd: (...end) => handler.onResponseEnd?.(...end),
    onResponseError: (...error) => handler.onResponseError?.(...error),
  };
}
