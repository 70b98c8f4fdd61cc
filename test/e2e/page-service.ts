import { writeQuickModel } from '../onnx/model-folder.ts';
import type { ProcessUnderTest } from '../support/inference-process.ts';
import { SMALL_CTC, startApiProcess, startInferenceProcess } from '../support/real-service.ts';
import { startRedis } from '../support/redis.ts';
import { startRelay } from '../support/relay.ts';
import { temporaryFolder } from '../support/tool.ts';

export const TOKEN = 'page-test-token-0123456789';

/** The whole service as real processes: Redis, an api replica, and inference with the small model once it is started. */
export interface PageService {
  /** The page's address, through the wire. */
  readonly origin: string;
  /** Past the wire, for the test's own clients. */
  readonly directOrigin: string;
  /** The network between the browser and the service. */
  readonly wire: {
    readonly port: number;
    /** Breaks every connection, and refuses new ones until `mend`. */
    cut(): void;
    mend(): void;
  };
  /** With the small model, with the one that `npm start` uses, or where only that there is a text counts, with the one that is loaded soonest. */
  startInference(model?: 'small' | 'bundled' | 'quick'): ProcessUnderTest;
  stop(): Promise<void>;
}

/** @param settings of the API besides those that are needed */
export async function startPageService(settings: Record<string, string> = {}): Promise<PageService> {
  const redis = await startRedis();
  // It has to be there before the API, which is told its address.
  const relay = await startRelay(0);
  const origin = `http://127.0.0.1:${relay.port}`;
  const env = { REDIS_URL: redis.url, ASR_API_TOKEN: TOKEN };
  const api = await startApiProcess({ ...env, ASR_ALLOWED_ORIGINS: origin, ...settings });
  const processes = [api.process];
  const quickModel = temporaryFolder();
  const mend = (): void => relay.to(Number(new URL(api.origin).port));
  mend();
  return {
    origin,
    directOrigin: api.origin,
    wire: { port: relay.port, cut: relay.cut, mend },
    startInference(model = 'small') {
      if (model === 'quick') writeQuickModel(quickModel.path);
      const inference = startInferenceProcess({
        ...env,
        ASR_MODEL: { quick: quickModel.path, small: SMALL_CTC, bundled: 'bundled' }[model],
      });
      processes.push(inference);
      return inference;
    },
    async stop() {
      await relay.stop();
      for (const process of processes) await process.stop();
      await redis.stop();
      quickModel.remove();
    },
  };
}
