/** The inference process of chain-server.ts: it answers how long the model ran. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { readInferenceConfig } from '../../common/config/config.ts';
import { OnnxRecognizer } from '../../inference/engine/thread/engine.ts';
import { locateModel } from '../../models/store/locate.ts';
import { CHAIN, type ChainJob } from './chain.ts';

const FINISH = `
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[3], '*', 'inferenceMs', ARGV[2])
redis.call('PEXPIRE', KEYS[3], 5000)
return redis.call('DEL', KEYS[1])`;

/** Of the WAV files of clips.ts. */
const HEADER_BYTES = 44;

const connect = (): Redis => new Redis(process.env['REDIS_URL'] ?? '', { maxRetriesPerRequest: null });
const redis = connect();
const finish = String(await redis.script('LOAD', FINISH));
const { model, executionProviders: providers, threads } = readInferenceConfig(process.env);
const recognizer = new OnnxRecognizer({ providers, threads });
await recognizer.load(await locateModel(model));

/** @returns how long it took, in milliseconds */
async function recognize(wav: Buffer): Promise<number> {
  const startedAtMs = performance.now();
  const stream = await recognizer.open();
  await stream.finish(wav.subarray(HEADER_BYTES));
  await stream.close();
  return performance.now() - startedAtMs;
}

const worker = new Worker<ChainJob, void>(
  CHAIN.queueName,
  async ({ data: { id, recognizes } }) => {
    const samples = CHAIN.samples(id);
    const [, wav] = await redis.mgetBuffer(CHAIN.slot, samples);
    if (wav === null || wav === undefined) throw new Error('the samples are gone');
    const inferenceMs = recognizes ? await recognize(wav) : 0;
    await redis.evalsha(finish, 3, CHAIN.slot, samples, CHAIN.end(id), id, inferenceMs);
  },
  { connection: connect(), prefix: CHAIN.prefix },
);
worker.on('error', (error) => console.error(error));
process.send?.({});
