/** What chain-server.ts and chain-worker.ts have between them. */
export interface ChainJob {
  readonly id: string;
  /** Whether the model runs, too. */
  readonly recognizes: boolean;
}

/** Its keys are in one hash slot, as the service's. */
export const CHAIN = {
  prefix: '{chain}',
  queueName: 'uploads',
  slot: '{chain}:slot',
  heartbeat: '{chain}:heartbeat',
  samples: (id: string) => `{chain}:samples:${id}`,
  end: (id: string) => `{chain}:end:${id}`,
} as const;
