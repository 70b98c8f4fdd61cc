import { PrintableError } from '../common/errors/printable.ts';

/**
 * Something the user can put right: `message` says what was wrong, with the value, and what to do. Anything
 * else that is thrown is a fault of ours.
 */
export class ModelFailure extends PrintableError {
  override readonly name = 'ModelFailure';
}

/** What the system said no to: a disk, or a connection. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

/**
 * What a person can do about an error of the disk; any other error is returned as it is.
 * @param path where the error itself names no path: a full disk does not say which it is.
 */
export function fromDiskError(error: unknown, path: string): unknown {
  if (!isSystemError(error)) return error;
  const where = error.path ?? path;
  switch (error.code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new ModelFailure(
        `no space left on the disk of ${where}: free some and run the same command again; what is there already is kept`,
        { cause: error },
      );
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new ModelFailure(
        `cannot read or write ${where} (${error.code}): make it writable for the user who runs the command`,
        { cause: error },
      );
    default:
      return new ModelFailure(`cannot work on ${where}: ${error.message}`, { cause: error });
  }
}

/** The innermost cause in one line: undici hides what happened behind "fetch failed". */
export function describeCause(error: unknown): string {
  const cause = innermost(error);
  if (!(cause instanceof Error)) return String(cause);
  return cause.message === '' ? cause.name : cause.message;
}

/** The code of the innermost cause, such as ENOTFOUND; '' where it has none. */
export function codeOf(error: unknown): string {
  const cause = innermost(error);
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}

function innermost(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  return error.cause === undefined || error.cause === null ? error : innermost(error.cause);
}
