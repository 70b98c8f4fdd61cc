import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runtimeFailure } from '../../../../../inference/engine/thread/runtime-failure.ts';
import { ExecutionProviderError, ModelLoadError } from '../../../../../inference/recognizer.ts';

const failure = (code: string, message: string): Error =>
  runtimeFailure(Object.assign(new Error(message), { code }));

describe('onnxruntime that does not load', () => {
  it.each([
    // As Node 24, musl and glibc say it.
    [
      'MODULE_NOT_FOUND',
      "Cannot find module '../../../bin/napi-v6/darwin/x64/onnxruntime_binding.node'\nRequire stack:\n- /srv/asr/node_modules/onnxruntime-node/dist/binding.js",
      "Cannot find module '../../../bin/napi-v6/darwin/x64/onnxruntime_binding.node'",
    ],
    [
      'ERR_DLOPEN_FAILED',
      'Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by /srv/libonnxruntime.so.1)',
    ],
    ['ERR_DLOPEN_FAILED', 'Error relocating /srv/libonnxruntime.so.1: __strcat_chk: symbol not found'],
    [
      'ERR_DLOPEN_FAILED',
      "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.28' not found (required by /srv/libonnxruntime.so.1)",
    ],
  ])('and never will on this machine stops the start (%s: %s)', (code, message, reason = message) => {
    const error = failure(code, message);
    expect(error).toBeInstanceOf(ExecutionProviderError);
    expect(error.message).toBe(
      `onnxruntime-node does not load on this machine, ${process.platform} ${process.arch} (${reason}); it runs on Linux with glibc 2.28 or newer (x64, arm64) and macOS (arm64): elsewhere use the Docker image`,
    );
  });

  it.each(['linux/x64', 'linux/arm64', 'darwin/arm64'])(
    'and should on %s says that node_modules is not complete',
    (machine) => {
      const reason = `Cannot find module '../bin/napi-v6/${machine}/onnxruntime_binding.node'`;
      const error = failure('MODULE_NOT_FOUND', reason);
      expect(error).toBeInstanceOf(ExecutionProviderError);
      expect(error.message).toBe(
        `onnxruntime-node does not load on this machine, ${process.platform} ${process.arch} (${reason}); node_modules is not complete: rm -r node_modules, then install again`,
      );
    },
  );

  it.each([
    ['ERR_DLOPEN_FAILED', '/srv/libonnxruntime.so.1: failed to map segment from shared object'],
    ['MODULE_NOT_FOUND', "Cannot find module 'onnxruntime-common'"],
    ['ERR_MODULE_NOT_FOUND', "Cannot find package 'onnxruntime-node' imported from /srv/asr/worker.js"],
  ])('for a reason that may pass is tried again (%s: %s)', (code, message) => {
    const error = failure(code, message);
    expect(error).toBeInstanceOf(ModelLoadError);
    expect(error.message).toBe(
      `onnxruntime-node does not load on this machine, ${process.platform} ${process.arch} (${message})`,
    );
  });

  it('names the machines that the installed version has libraries for', () => {
    const folder = dirname(dirname(createRequire(import.meta.url).resolve('onnxruntime-node')));
    const libraries = readdirSync(join(folder, 'bin'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('onnxruntime_binding.node'))
      .map((path) => path.split('/').slice(1, 3).join(' '))
      .filter((library) => !library.startsWith('win32'));
    expect(libraries.sort()).toEqual(['darwin arm64', 'linux arm64', 'linux x64']);
  });
});
