import { ExecutionProviderError, ModelLoadError } from '../../recognizer.ts';
import { errorText } from '../text/error-text.ts';

/** What onnxruntime-node 1.30 brings libraries for, without Windows, where the service does not run. */
const SHIPPED = /\/(linux\/(x64|arm64)|darwin\/arm64)\/onnxruntime_binding/;
const ELSEWHERE =
  'it runs on Linux with glibc 2.28 or newer (x64, arm64) and macOS (arm64): elsewhere use the Docker image';
const INCOMPLETE = 'node_modules is not complete: rm -r node_modules, then install again';

/**
 * Why onnxruntime itself could not be imported.
 * @returns an ExecutionProviderError if somebody has to change something first; a ModelLoadError if the
 * reason may pass, such as too little memory.
 */
export function runtimeFailure(cause: unknown): ExecutionProviderError | ModelLoadError {
  const [reason = ''] = errorText(cause).split(' Require stack: ');
  const text = `onnxruntime-node does not load on this machine, ${process.platform} ${process.arch} (${reason})`;
  const remedy = remedyOf(cause);
  return remedy ? new ExecutionProviderError(`${text}; ${remedy}`) : new ModelLoadError(text);
}

/**
 * What to do about a library that is missing, or was made for another C library (as on Alpine) or a newer
 * one. Undefined if the reason may pass.
 */
function remedyOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || !('code' in cause)) return;
  const { code, message } = cause;
  switch (code) {
    case 'MODULE_NOT_FOUND':
      if (!message.includes('onnxruntime_binding')) return;
      return SHIPPED.test(message) ? INCOMPLETE : ELSEWHERE;
    case 'ERR_DLOPEN_FAILED':
      return /ld-linux|relocating|GLIBC|CXXABI/.test(message) ? ELSEWHERE : undefined;
    default:
      return;
  }
}
