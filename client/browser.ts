import { AsrClientCore, type AsrClientOptions } from './client.ts';
import { browserTransport } from './stream/socket-browser.ts';

export * from './api.ts';

/**
 * The service from a page, without any dependency. Uploads work from the service's own origin alone, streams
 * from those in `ASR_ALLOWED_ORIGINS`. The stream's first message has the token.
 */
export class AsrClient extends AsrClientCore {
  constructor(options: AsrClientOptions) {
    super(options, browserTransport);
  }
}
