import { AsrClientCore } from '../../client/client.ts';
import { AsrError } from '../../client/protocol/errors.ts';
import { parseObject } from '../../client/protocol/wire.ts';
import type { Transport } from '../../client/stream/socket.ts';
import { browserTransport } from '../../client/stream/socket-browser.ts';
import { Failure } from './failures.ts';

/**
 * A browser does not tell a page why a handshake failed: an origin that is not allowed, a proxy that passes
 * on no WebSockets, or nobody there.
 */
const transport: Transport = {
  ...browserTransport,
  connect: (url, apiToken, events) =>
    browserTransport.connect(url, apiToken, {
      ...events,
      onFailed: ({ message }) =>
        events.onFailed(new AsrError('network', message, { cause: new Failure('stream_refused', message) })),
    }),
};

/** The service this page came from. @throws Failure `unauthorized` for a token that no header can hold. */
export function serviceFor(apiToken: string): AsrClientCore {
  try {
    return new AsrClientCore({ url: new URL('.', location.href), apiToken }, transport);
  } catch (error) {
    throw new Failure('unauthorized', String(error));
  }
}

/** Whether the service can recognize now. @throws Failure or AsrError, for `asFailure` to tell */
export async function readiness(
  service: AsrClientCore,
  signal: AbortSignal,
): Promise<'ready' | 'busy' | 'loading' | 'unavailable'> {
  const { status, busy, error } = await service.ready({ signal });
  if (status === 'ready') return busy ? 'busy' : 'ready';
  // With an error it does not load: nobody should wait for it.
  return typeof error === 'string' ? 'unavailable' : 'loading';
}

export interface ModelName {
  readonly id: string;
  readonly family: string | undefined;
}

/** The model that answers; undefined where the service names none. @throws the browser's error when there is no answer. */
export async function modelName(signal: AbortSignal): Promise<ModelName | undefined> {
  const response = await fetch('page/model.json', { credentials: 'omit', signal });
  const { id, family } = parseObject(await response.text()) ?? {};
  if (typeof id !== 'string') return undefined;
  return { id, family: typeof family === 'string' ? family : undefined };
}
