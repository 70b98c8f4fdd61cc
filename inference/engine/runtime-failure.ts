import { ExecutionProviderError, ModelLoadError } from '../recognizer.ts';
import { errorText } from './error-text.ts';

/** What onnxruntime-node 1.30 brings libraries for; those for Windows are of no use, for the rest of the service does not run there. */
const MACHINES = 'Linux with glibc 2.28 or newer (x64, arm64) and macOS (arm64)';

/**
 * Why onnxruntime itself could not be imported.
 * @returns an ExecutionProviderError where it never will be on this machine; a ModelLoadError where the reason may pass, such as too little memory.
 */
export function runtimeFailure(cause: unknown): ExecutionProviderError | ModelLoadError {
  const [reason = ''] = errorText(cause).split(' Require stack: ');
  const text = `onnxruntime-node does not load on this machine, ${process.platform} ${process.arch} (${reason})`;
  return isOfMachine(cause)
    ? new ExecutionProviderError(`${text}; it runs on ${MACHINES}: elsewhere use the Docker image`)
    : new ModelLoadError(text);
}

/** There is no library for the machine, or it was made for another C library, as on Alpine, or for a newer one. */
function isOfMachine(cause: unknown): boolean {
  if (!(cause instanceof Error) || !('code' in cause)) return false;
  switch (cause.code) {
    case 'MODULE_NOT_FOUND':
      return cause.message.includes('onnxruntime_binding');
    case 'ERR_DLOPEN_FAILED':
      return /ld-linux|relocating|GLIBC|CXXABI/.test(cause.message);
    default:
      return false;
  }
}
