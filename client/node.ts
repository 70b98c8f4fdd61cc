import { AsrClientCore, type AsrClientOptions } from './client.ts';
import { nodeTransport } from './stream/socket-node.ts';

export * from './api.ts';

/** The service from Node: HTTP with `fetch`, the stream with `ws`, the token in the header of both. */
export class AsrClient extends AsrClientCore {
  constructor(options: AsrClientOptions) {
    super(options, nodeTransport);
  }
}
