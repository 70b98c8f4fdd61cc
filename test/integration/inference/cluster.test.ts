import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { startClusterNode, type TestRedis } from '../../support/redis/redis.ts';
import { startInference } from '../../support/service/inference.ts';
import { scriptedPcm, scriptedText } from '../../support/service/scripted-recognizer.ts';
import { TestUploads } from '../../support/service/test-upload.ts';

async function startNode(): Promise<TestRedis> {
  const node = await startClusterNode(['--cluster-node-timeout', '500']);
  onTestFinished(() => node.stop());
  return node;
}

it('uploads are served again after the owner of their keys had stood still and then died, and nothing is logged with a stack', async () => {
  const nodes = [await startNode(), await startNode(), await startNode()] as const;
  const [owner, second, third] = nodes;
  const becomes = async (state: string, seenBy: readonly TestRedis[]): Promise<void> => {
    for (const { client } of seenBy)
      await expect
        .poll(async () => String(await client.cluster('INFO')), { interval: 20, timeout: 10_000 })
        .toContain(`cluster_state:${state}`);
  };
  for (const { client } of nodes) await client.cluster('MEET', '127.0.0.1', owner.port);
  await owner.client.cluster('ADDSLOTSRANGE', 2, 16_383);
  await second.client.cluster('ADDSLOTS', 0);
  await third.client.cluster('ADDSLOTS', 1);
  await becomes('ok', nodes);
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`).join();
  const inference = await startInference(`redis+cluster://${addresses}`);
  onTestFinished(() => inference.stop());
  const expectServed = async (): Promise<void> => {
    const uploads = await TestUploads.connect(owner);
    const pcm = scriptedPcm(0.5);
    const { ended } = await uploads.submit(pcm);
    expect(await ended).toMatchObject({ kind: 'completed', end: { text: scriptedText(pcm) } });
    await uploads.close();
  };
  await expectServed();
  await owner.pause();
  await becomes('fail', [second, third]);
  // BullMQ gives an answer up after two seconds, and begins anew with its reader while nobody owns the keys.
  await delay(3_000);
  await owner.kill();
  const isTold = () =>
    inference.log.some(({ msg }) => String(msg).includes('no node of the Cluster has its keys'));
  await expect.poll(isTold, { timeout: 10_000 }).toBe(true);
  await owner.restart();
  await becomes('ok', nodes);
  await expectServed();
  expect(inference.log.filter((line) => 'err' in line && Number(line['level']) > 20)).toEqual([]);
}, 40_000);
