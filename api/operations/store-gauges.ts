import { Gauge, type Registry } from 'prom-client';
import type { ServiceStateReader } from './service-state.ts';

/**
 * Metrics of the whole service. They are read from the store for each scrape, so that every replica shows the same.
 * @returns reads them. While Redis is away they are 0 or missing, and `asr_redis_up` says why
 */
export function storeGauges(registry: Registry, state: ServiceStateReader): () => Promise<void> {
  const registers = [registry];
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const busy = gauge('asr_slot_busy', '1 while the recognition slot is taken');
  const slotAge = gauge(
    'asr_slot_age_seconds',
    'For how long the recognition in the slot has had it; 0 while the slot is free',
  );
  const backlog = gauge(
    'asr_stream_backlog_seconds',
    'Audio of the active stream that waits for the model; over 2 ends it as overloaded',
  );
  const memory = gauge(
    'asr_redis_memory_ratio',
    'Share of its maxmemory that Redis uses; at 1 it refuses every upload. 0 without a limit',
  );
  const ready = gauge('asr_inference_ready', 'Inference processes that are ready');
  const heartbeatAge = new Gauge({
    name: 'asr_inference_heartbeat_age_seconds',
    help: 'Since the last heartbeat of each inference process; after 3 s it counts as gone',
    labelNames: ['process'] as const,
    registers,
  });
  const info = new Gauge({
    name: 'asr_inference_info',
    help: 'What each inference process says of itself; the value is always 1',
    labelNames: ['process', 'state', 'model', 'family', 'provider', 'version'] as const,
    registers,
  });
  return async () => {
    const { slot, recognizers, memoryShare } = await state
      .read()
      .catch(() => ({ slot: undefined, recognizers: [], memoryShare: undefined }));
    memory.set(memoryShare ?? 0);
    busy.set(slot ? 1 : 0);
    slotAge.set((slot?.ageMs ?? 0) / 1000);
    backlog.set((slot?.backlogMs ?? 0) / 1000);
    ready.set(recognizers.filter((recognizer) => recognizer.state === 'ready').length);
    heartbeatAge.reset();
    info.reset();
    for (const {
      id,
      state,
      model = '',
      family = '',
      provider = '',
      version = '',
      heartbeatAgeMs,
    } of recognizers) {
      heartbeatAge.set({ process: id }, heartbeatAgeMs / 1000);
      info.set({ process: id, state, model, family, provider, version }, 1);
    }
  };
}
