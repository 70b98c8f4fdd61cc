import { startRedis } from './redis.ts';

/** The image that docker-compose.yml names. */
const IMAGE = 'redis:7-alpine';

/**
 * Before the first test: says where its Redis servers run, and sets ASR_TEST_REDIS_IMAGE for all test
 * processes. They run in containers where a Docker engine starts one, else as local processes. An empty
 * ASR_TEST_REDIS_IMAGE asks for local ones.
 */
export default async function chooseRedis(): Promise<void> {
  const image = process.env['ASR_TEST_REDIS_IMAGE'] ?? IMAGE;
  let reason = 'as ASR_TEST_REDIS_IMAGE asks';
  if (image !== '') {
    try {
      const redis = await startRedis([], [], image);
      const version = /redis_version:(.*)\r/.exec(await redis.client.info('server'))?.[1];
      await redis.stop();
      process.env['ASR_TEST_REDIS_IMAGE'] = image;
      console.log(`Redis of the tests: ${image} (${version}) in containers`);
      return;
    } catch (error) {
      reason = `no container of ${image}: ${error instanceof Error ? error.message.split('\n')[0] : error}`;
    }
  }
  process.env['ASR_TEST_REDIS_IMAGE'] = '';
  console.log(`Redis of the tests: the local redis-server (${reason})`);
}
