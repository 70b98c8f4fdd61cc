import type { Store } from '../store/store.ts';
import { HeartbeatStore } from './heartbeats.ts';

/** What an API replica says of itself once a second. */
export interface Replica {
  /** host:pid */
  readonly id: string;
  /** Of the program, as its package.json says. */
  readonly version: string;
}

/** The heartbeats of the API replicas. */
export class ReplicaStore extends HeartbeatStore<Replica> {
  constructor(store: Store) {
    super(store, (id) => store.keys.replica(id), store.keys.replicas, readReplica);
  }
}

/** Another version of this program, or a stranger, may have written it. */
function readReplica(text: string, id: string): Replica {
  try {
    const { version }: Record<string, unknown> = { ...JSON.parse(text) };
    return { id, version: typeof version === 'string' ? version : '?' };
  } catch {
    return { id, version: '?' };
  }
}
