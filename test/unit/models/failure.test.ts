import { expect, it } from 'vitest';
import { fromDiskError, ModelFailure } from '../../../models/failure.ts';

it.each([
  [
    'EROFS',
    'cannot write /models/x: its file system is read-only (EROFS); mount it writable and run the same command again',
  ],
  ['EACCES', 'cannot read or write /models/x (EACCES): run the command as a user who may do both there'],
])('says what to do about %s', (code, message) => {
  const error = Object.assign(new Error(`${code}: open`), { code, syscall: 'open' });
  expect(fromDiskError(error, '/models/x')).toEqual(new ModelFailure(message, { cause: error }));
});
