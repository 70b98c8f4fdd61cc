/** The inference process of chain-server.ts, without a model: it answers with the number of bytes that it was given. */
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { CHAIN, type ChainJob } from './chain.ts';

const FINISH = `
redis.call('DEL', KEYS[2])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[3], '*', 'bytes', ARGV[2])
redis.call('PEXPIRE', KEYS[3], 5000)
return redis.call('DEL', KEYS[1])`;

const connect = (): Redis => new Redis(process.env['REDIS_URL'] ?? '', { maxRetriesPerRequest: null });
const redis = connect();
const finish = String(await redis.script('LOAD', FINISH));
const worker = new Worker<ChainJob, void>(
  CHAIN.queueName,
  async ({ data: { id } }) => {
    const samples = CHAIN.samples(id);
    const [, pcm] = await redis.mgetBuffer(CHAIN.slot, samples);
    await redis.evalsha(finish, 3, CHAIN.slot, samples, CHAIN.end(id), id, pcm?.length ?? 0);
  },
  { connection: connect(), prefix: CHAIN.prefix },
);
worker.on('error', (error) => console.error(error));
