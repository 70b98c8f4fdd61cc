import { expect, it } from 'vitest';
import { describeCause, fromDiskError, ModelFailure } from '../../../models/failure.ts';

it.each([
  [
    'EDQUOT',
    undefined,
    'no space left on the disk of /models: free some and run the same command again; what is there already is kept',
  ],
  [
    'EROFS',
    '/models/x',
    'cannot read or write /models/x (EROFS): make it writable for the user who runs the command',
  ],
  ['EIO', '/models/x', 'cannot work on /models/x: EIO: open'],
])('says what to do about %s', (code, path, message) => {
  const error = Object.assign(new Error(`${code}: open`), { code, path, syscall: 'open' });
  expect(fromDiskError(error, '/models')).toEqual(new ModelFailure(message, { cause: error }));
});

it('names the first of several causes, as of a name with two addresses, under what hides it', () => {
  const causes = ['::1:80', '127.0.0.1:80'].map((at) => new Error(`connect ECONNREFUSED ${at}`));
  const error = new TypeError('fetch failed', { cause: new AggregateError(causes) });
  expect(describeCause(error)).toBe('connect ECONNREFUSED ::1:80');
});
