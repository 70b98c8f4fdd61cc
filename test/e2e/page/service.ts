import { SMALL_CTC } from '../../support/audio/fixtures.ts';
import { startRelay } from '../../support/machine/relay.ts';
import { startRedis } from '../../support/redis/redis.ts';
import { startApi } from '../../support/service/api.ts';
import { startInference } from '../../support/service/inference.ts';
import type { ProcessUnderTest } from '../../support/service/inference-process.ts';
import { startInferenceProcess } from '../../support/service/real-service.ts';
import type { ScriptedRecognizer } from '../../support/service/scripted-recognizer.ts';

/** The service behind the page: a real Redis, an API replica in this process, and inference once it is started. */
export interface PageService {
  /** The page's address, through the wire. */
  readonly origin: string;
  /** Past the wire, for the test's own clients. */
  readonly directOrigin: string;
  readonly wsUrl: string;
  /** The network between the browser and the service. */
  readonly wire: {
    readonly port: number;
    /** Breaks every connection, and refuses new ones until `mend`. */
    cut(): void;
    mend(): void;
  };
  /** In this process, without a model: the text tells which samples it got, to the last one. */
  startScripted(): Promise<ScriptedRecognizer>;
  /** As a process of its own, with the small model or the one that `npm start` uses. */
  startModel(model: 'small' | 'bundled'): ProcessUnderTest;
  stop(): Promise<void>;
}

/** @param settings of the API besides those that are needed */
export async function startPageService(settings: Record<string, string> = {}): Promise<PageService> {
  const redis = await startRedis();
  // It has to be there before the API, which is told its address.
  const relay = await startRelay(0);
  const origin = `http://127.0.0.1:${relay.port}`;
  const api = await startApi(redis.url, { ASR_ALLOWED_ORIGINS: origin, ...settings });
  const inferences: { stop(): Promise<void> }[] = [];
  const mend = (): void => relay.to(Number(new URL(api.origin).port));
  mend();
  return {
    origin,
    directOrigin: api.origin,
    wsUrl: api.wsUrl,
    wire: { port: relay.port, cut: relay.cut, mend },
    async startScripted() {
      const inference = await startInference(redis.url);
      inferences.push(inference);
      return inference.recognizer;
    },
    startModel(model) {
      const process = startInferenceProcess({
        REDIS_URL: redis.url,
        ASR_MODEL: { small: SMALL_CTC, bundled: 'bundled' }[model],
      });
      inferences.push(process);
      return process;
    },
    async stop() {
      await relay.stop();
      for (const inference of inferences) await inference.stop();
      await api.stop();
      await redis.stop();
    },
  };
}
