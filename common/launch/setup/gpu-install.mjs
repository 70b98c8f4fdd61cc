// `npm run gpu:install`: fetches the CUDA libraries of onnxruntime-node (several hundred MB), which npm does not carry. They lie in
// node_modules, so after a new `npm ci` they have to be fetched again.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = `${process.platform}/${process.arch}`;
const runtime = join(dirname(fileURLToPath(import.meta.url)), '../../../node_modules/onnxruntime-node');

/** @returns {string | undefined} what went wrong */
function install() {
  if (here !== 'linux/x64') return `onnxruntime has CUDA libraries for linux/x64 only, this is ${here}`;
  // Without a value: in 1.30 the script loses the documented value `cuda12` and then does nothing. The variable would win over the argument.
  const env = { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'true' };
  const script = join(runtime, 'script', 'install.js');
  const { status } = spawnSync(process.execPath, [script], { env, stdio: 'inherit' });
  const library = join(runtime, 'bin/napi-v6', here, 'libonnxruntime_providers_cuda.so');
  if (status !== 0 || !existsSync(library))
    return 'the CUDA libraries could not be fetched from api.nuget.org, see above';
  console.log(
    `CUDA libraries are in ${dirname(library)}; they also need CUDA 12 and cuDNN 9 on this machine. Try: ASR_EXECUTION_PROVIDERS=cuda npm start`,
  );
  return undefined;
}

const failure = install();
if (failure !== undefined) {
  console.error(failure);
  process.exitCode = 1;
}
