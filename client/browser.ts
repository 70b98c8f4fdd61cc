import { AsrClientCore, type AsrClientOptions } from './client.ts';
import { browserTransport } from './stream/socket-browser.ts';

export * from './api.ts';

/**
 * The service from a page, without any dependency. HTTP goes through `fetch`, which the service allows only to pages of its own origin.
 * The stream goes through the platform's WebSocket, for origins in `ASR_ALLOWED_ORIGINS`, with the token in its first message.
 */
export class AsrClient extends AsrClientCore {
  constructor(options: AsrClientOptions) {
    super(options, browserTransport);
  }
}
