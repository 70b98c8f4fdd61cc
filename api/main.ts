import { endOnSignals } from '../common/process/early-signals.ts';

// Before everything else: the imports take some 0.3 s.
const listensItself = endOnSignals(['SIGTERM', 'SIGINT', 'SIGHUP']);
const { serve } = await import('./serve.ts');
await serve(listensItself);
