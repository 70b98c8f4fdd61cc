import { PrintableError } from '../common/printable.ts';

/** Something the user can put right: `message` says what was wrong, with the value, and what to do. Anything else that is thrown is a fault of ours. */
export class ModelFailure extends PrintableError {
  override readonly name = 'ModelFailure';
}

/** An archive that could not be fetched, because of the server or the way to it. Its message begins with the address. */
export class DownloadFailure extends ModelFailure {}

/** A full disk needs its own words: the system's "ENOSPC: no space left on device, write" does not say which disk or what now. */
export function fromDiskError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return error;
  const { code } = error;
  if (isDiskFull(error)) {
    return new ModelFailure(
      `no space left on the disk of ${path}: free some and run the same command again; what is there already is kept`,
      {
        cause: error,
      },
    );
  }
  if (code === 'EROFS') {
    return new ModelFailure(
      `cannot write ${path}: its file system is read-only (EROFS); mount it writable and run the same command again`,
      { cause: error },
    );
  }
  if (code === 'EACCES' || code === 'EPERM') {
    return new ModelFailure(
      `cannot read or write ${path} (${code}): run the command as a user who may do both there`,
      { cause: error },
    );
  }
  return new ModelFailure(`cannot work on ${path}: ${describeCause(error)}`, { cause: error });
}

export function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');
}

/** The innermost cause in one line: undici hides what happened behind "fetch failed". */
export function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return describeCause(error.errors[0]);
  if (error.cause !== undefined && error.cause !== null) return describeCause(error.cause);
  return error.message === '' ? error.name : error.message;
}
