/**
 * Ends the process on these signals while its program is still being loaded. The kernel drops a signal for the first
 * process of a container if nobody listens to it: that process would be killed after the whole grace time.
 * @returns what ends this, for when the program listens itself
 */
export function endOnSignals(signals: readonly NodeJS.Signals[]): () => void {
  const end = (): never => process.exit(0);
  for (const signal of signals) process.on(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}
