/**
 * Every name in the store is made here. All keys share the prefix's hash tag, so that one Lua script may touch
 * any of them on Redis Cluster.
 */
export class RedisKeys {
  readonly prefix: string;

  /** @param prefix e.g. `{asr}` */
  constructor(prefix: string) {
    this.prefix = prefix;
  }

  /**
   * String, TTL 5 s (2 s if only a model call is left): the holder of the one recognition slot as JSON. Its
   * existence is `busy`.
   */
  get slot(): string {
    return `${this.prefix}:slot`;
  }
  /** String, TTL 1 s: the inference process that is in a model call. No other one begins work meanwhile. */
  get modelCall(): string {
    return `${this.prefix}:model-call`;
  }
  /** Number: the highest fence that was given out or seen. */
  get fence(): string {
    return `${this.prefix}:fence`;
  }
  /** Stream: announcements of new stream sessions, read by every inference process. */
  get sessions(): string {
    return `${this.prefix}:sessions`;
  }
  /**
   * Stream: the opening entry `0-1`, then an entry `<number>-1` for each frame (frames of a burst share one),
   * then the end. Deleted with the last result.
   */
  audio(sessionId: string): string {
    return `${this.prefix}:session:${sessionId}:audio`;
  }
  /** Stream: progress, partials and the last result of one session. */
  results(sessionId: string): string {
    return `${this.prefix}:session:${sessionId}:results`;
  }
  /** String, TTL 1 s: the inference process that works on the session. */
  lease(sessionId: string): string {
    return `${this.prefix}:session:${sessionId}:lease`;
  }
  /** What the scripts that begin or end a session take, in their order. */
  ofSession(sessionId: string): [slot: string, lease: string, audio: string, results: string] {
    return [this.slot, this.lease(sessionId), this.audio(sessionId), this.results(sessionId)];
  }
  /** String: the samples of one upload, raw PCM. */
  upload(id: string): string {
    return `${this.prefix}:upload:${id}`;
  }
  /** Stream: one entry, how the upload ended; read and deleted by the replica that waits for it. */
  uploadEnd(id: string): string {
    return `${this.prefix}:upload:${id}:end`;
  }
  /** String, TTL 3 s: state of one inference process as JSON. */
  inference(id: string): string {
    return `${this.prefix}:inference:${id}`;
  }
  /** Sorted set: ids of the inference processes, scored by the end (Unix ms) of their heartbeat. */
  get inferences(): string {
    return `${this.prefix}:inferences`;
  }
  /** String, TTL 3 s: what one API replica says of itself, as JSON. */
  replica(id: string): string {
    return `${this.prefix}:replica:${id}`;
  }
  /** Sorted set: ids of the API replicas, scored as those of the inference processes. */
  get replicas(): string {
    return `${this.prefix}:replicas`;
  }
  /** BullMQ's prefix and queue name: its keys are `<prefix>:uploads:*`. */
  readonly queueName = 'uploads';
}
