import type { ServerMessage } from '../../common/messages/stream.ts';
import type { StreamSummary } from './session-log.ts';
import type { StreamTimeouts } from './stream-clocks.ts';
import type { StreamOpener } from './stream-opener.ts';

/** The socket as the session needs it. */
interface StreamPeer {
  send(message: ServerMessage): void;
  close(code: number, reason: string): void;
}

/** What a session works with, and who hears of it. */
export interface StreamSessionParts {
  readonly peer: StreamPeer;
  readonly opener: StreamOpener;
  /** The handshake's Authorization header was right; without one, `start` must carry the token. */
  readonly preauthorized: boolean;
  readonly timeouts: StreamTimeouts;
  /** Hears of what the client is not told: a store that did not answer, a fault of ours. */
  readonly onFault: (error: unknown) => void;
  readonly onEnd: (summary: StreamSummary) => void;
}
