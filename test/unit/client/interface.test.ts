import { expect, test } from 'vitest';
import { isServiceErrorCode, type ServiceErrorCode } from '../../../api/client/errors.ts';
import * as client from '../../../api/client/wire.ts';
import * as server from '../../../common/audio/limits.ts';
import { CLOSE_CODE, HTTP_STATUS } from '../../../common/errors.ts';

test('the client knows the codes of the service, and no others', () => {
  // No others: one that the service does not have would not compile here.
  const codes: Readonly<Record<ServiceErrorCode, number>> = { ...HTTP_STATUS, ...CLOSE_CODE };
  expect(Object.keys(codes).filter((code) => !isServiceErrorCode(code))).toEqual([]);
});

test('the client keeps to the service’s numbers', () => {
  expect({
    rate: client.SAMPLE_RATE_HZ,
    frame: client.FRAME_BYTES,
    samples: client.MAX_RECORDING_SAMPLES,
  }).toEqual({
    rate: server.SAMPLE_RATE_HZ,
    frame: server.MAX_FRAME_BYTES,
    samples: server.MAX_RECORDING_SAMPLES,
  });
});
