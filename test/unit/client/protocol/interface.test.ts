import { expect, test } from 'vitest';
import { isServiceErrorCode, type ServiceErrorCode } from '../../../../client/protocol/errors.ts';
import { CLOSE_CODE, HTTP_STATUS } from '../../../../common/errors/errors.ts';

test('the client knows the codes of the service, and no others', () => {
  // No others: one that the service does not have would not compile here.
  const codes: Readonly<Record<ServiceErrorCode, number>> = { ...HTTP_STATUS, ...CLOSE_CODE };
  expect(Object.keys(codes).filter((code) => !isServiceErrorCode(code))).toEqual([]);
});
