import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AsrClient, AsrError } from '../../../../client/node.ts';
import { fileFolder } from '../../../support/folders.ts';
import { ScriptedService } from '../scripted-service.ts';
import { failure, PCM, TOKEN } from '../sessions.ts';

/** The ports of 127.0.0.1 on which a certificate of its own is shown, and on which no TLS is spoken. */
const ports = { selfSigned: 0, plain: 0 };
let plain: ScriptedService;
let stopTls: () => Promise<void>;
const folder = fileFolder();

beforeAll(async () => {
  plain = await ScriptedService.start();
  ports.plain = Number(new URL(plain.url).port);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const made = ['-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
  execFileSync('openssl', ['req', '-x509', ...made, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports.selfSigned = (server.address() as AddressInfo).port;
  stopTls = async () => {
    server.close();
    await once(server, 'close');
  };
});
afterAll(async () => {
  await stopTls?.();
  await plain?.stop();
});

test.for([
  {
    to: 'selfSigned',
    // The hint in the middle is Node's own, from 24 on.
    says: /self-signed certificate;( if the root CA is installed locally, try running Node\.js with --use-system-ca;)? a private CA goes into NODE_EXTRA_CA_CERTS$/,
  },
  { to: 'plain', says: /wrong version number/ },
] as const)(
  'TLS that lasts ($to) is told at the first attempt, over HTTP and on the stream',
  async ({ to, says }) => {
    const client = new AsrClient({ url: `https://127.0.0.1:${ports[to]}`, apiToken: TOKEN });
    let retries = 0;
    const retry = {
      attempts: 2,
      firstDelayMs: 1,
      onRetry: () => {
        retries += 1;
      },
    };
    const errors = [
      await failure(client.transcribe(PCM, { retry })),
      await failure(client.stream({ audio: PCM }).final),
    ];
    expect(retries).toBe(0);
    for (const error of errors) {
      expect(error).toMatchObject({ code: 'network', retryable: false });
      expect(error.message).toMatch(says);
    }
  },
);

test.for([
  ['CERT_HAS_EXPIRED', false],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', false],
  ['SELF_SIGNED_CERT_IN_CHAIN', false],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', false],
  ['CRL_HAS_EXPIRED', false],
  ['INVALID_CA', false],
  ['INVALID_PURPOSE', false],
  ['PATH_LENGTH_EXCEEDED', false],
  ['HOSTNAME_MISMATCH', false],
  ['ERR_TLS_CERT_ALTNAME_INVALID', false],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', false],
  ['EPROTO', false],
  ['ECONNREFUSED', true],
  ['ECONNRESET', true],
  ['EAI_AGAIN', true],
  ['UND_ERR_SOCKET', true],
  ['ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC', true],
  ['ERR_SSL_UNEXPECTED_EOF_WHILE_READING', true],
  ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', true],
] as const)('%s, also as the cause of another error: retryable is %s', ([code, retryable]) => {
  const reason = Object.assign(new Error('it failed'), { code });
  const wrapped = new TypeError('fetch failed', { cause: new Error('no connection', { cause: reason }) });
  for (const cause of [reason, wrapped])
    expect(new AsrError('network', 'no connection', { cause }).retryable).toBe(retryable);
});

test('causes that go round in a circle are no TLS failure', () => {
  const one = new Error('one');
  one.cause = new Error('other', { cause: one });
  expect(new AsrError('network', 'no connection', { cause: one }).retryable).toBe(true);
});
