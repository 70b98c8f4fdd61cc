import { expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../../../common/process/log.ts';
import { QueueReports } from '../../../../inference/uploads/queue-reports.ts';
import { startRedis } from '../../../support/redis/redis.ts';

it('a refused password is no line of the queue, also when it hears of it after the next connection is ready; another refusal is one', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const stranger = redis.client.duplicate();
  onTestFinished(() => stranger.disconnect());
  await stranger.ping();
  await redis.client.config('SET', 'requirepass', 'another-password');
  await stranger.call('RESET');
  const log: Record<string, unknown>[] = [];
  const output = { write: (line: string) => void log.push(JSON.parse(line)) };
  const reports = new QueueReports(redis.client, createLogger('info', 'inference', output));
  const reportAnswerTo = (command: Promise<unknown>): Promise<void> =>
    command.then(
      () => expect.unreachable('Redis refuses it'),
      (error: Error) => reports.report(error),
    );
  await reportAnswerTo(redis.client.call('AUTH', 'given-password'));
  await reportAnswerTo(stranger.get('any'));
  expect(log).toEqual([]);
  await reportAnswerTo(redis.client.call('GET'));
  expect(log).toMatchObject([
    { level: 40, msg: 'upload queue: Redis refuses', error: expect.stringContaining('wrong number') },
  ]);
});
