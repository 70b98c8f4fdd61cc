// openapi-typescript makes its output with the compiler's JavaScript API, which TypeScript 7 no longer has.
// `node --import` of this file gives it the TypeScript 6 that @ts-morph/common carries: a second package
// named typescript would also bring a second `tsc`.
import { register } from 'node:module';

const compiler = import.meta.resolve('@ts-morph/common').replace(/[\w-]+\.js$/, 'typescript.js');
const hooks = `export const resolve = (specifier, context, next) =>
  specifier === 'typescript' ? { url: '${compiler}', format: 'commonjs', shortCircuit: true } : next(specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
