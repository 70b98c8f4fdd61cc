import { AsrClientCore, type AsrClientOptions } from './client.ts';
import { browserTransport } from './stream/socket-browser.ts';

export * from './api.ts';

/**
 * The service from a page, without any dependency: HTTP with `fetch` (which the service allows to pages of its own origin only),
 * the stream with the platform's WebSocket (for origins in `ASR_ALLOWED_ORIGINS`), the token in its first message.
 */
export class AsrClient extends AsrClientCore {
  constructor(options: AsrClientOptions) {
    super(options, browserTransport);
  }
}
