import { expect, it } from 'vitest';
import { describeCause, fromDiskError, ModelFailure } from '../../../models/failure.ts';

it.each([
  [
    'EDQUOT',
    'no space left on the disk of /models/x: free some and run the same command again; what is there already is kept',
  ],
  [
    'EROFS',
    'cannot write /models/x: its file system is read-only (EROFS); mount it writable and run the same command again',
  ],
  ['EACCES', 'cannot read or write /models/x (EACCES): run the command as a user who may do both there'],
])('says what to do about %s', (code, message) => {
  const error = Object.assign(new Error(`${code}: open`), { code, syscall: 'open' });
  expect(fromDiskError(error, '/models/x')).toEqual(new ModelFailure(message, { cause: error }));
});

it('names the first of several causes, as of a name with two addresses, under what hides it', () => {
  const causes = ['::1:80', '127.0.0.1:80'].map((at) => new Error(`connect ECONNREFUSED ${at}`));
  const error = new TypeError('fetch failed', { cause: new AggregateError(causes) });
  expect(describeCause(error)).toBe('connect ECONNREFUSED ::1:80');
});
