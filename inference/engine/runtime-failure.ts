import { ExecutionProviderError, ModelLoadError } from '../recognizer.ts';
import { errorText } from './error-text.ts';

/** What onnxruntime-node 1.30 brings libraries for; those for Windows are of no use, for the rest of the service does not run there. */
const MACHINES = 'Linux with glibc 2.28 or newer (x64, arm64) and macOS (arm64)';

const SHIPPED = /\/(linux\/(x64|arm64)|darwin\/arm64)\/onnxruntime_binding/;
const ELSEWHERE = `it runs on ${MACHINES}: elsewhere use the Docker image`;

/**
 * Why onnxruntime itself could not be imported.
 * @returns an ExecutionProviderError where it never will be until somebody mends that; a ModelLoadError where the reason may pass, such as too little memory.
 */
export function runtimeFailure(cause: unknown): ExecutionProviderError | ModelLoadError {
  const [reason = ''] = errorText(cause).split(' Require stack: ');
  const text = `onnxruntime-node does not load on this machine, ${process.platform} ${process.arch} (${reason})`;
  const remedy = remedyOf(cause);
  return remedy ? new ExecutionProviderError(`${text}; ${remedy}`) : new ModelLoadError(text);
}

/** Of a library that is not there for this machine, or was made for another C library, as on Alpine, or for a newer one. */
function remedyOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || !('code' in cause)) return;
  const { code, message } = cause;
  switch (code) {
    case 'MODULE_NOT_FOUND':
      if (!message.includes('onnxruntime_binding')) return;
      return SHIPPED.test(message)
        ? 'node_modules is not complete: rm -r node_modules, then install again'
        : ELSEWHERE;
    case 'ERR_DLOPEN_FAILED':
      return /ld-linux|relocating|GLIBC|CXXABI/.test(message) ? ELSEWHERE : undefined;
    default:
      return;
  }
}
