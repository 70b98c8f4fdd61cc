/**
 * Calls `giveUp` after `ms` without an answer. Timers are looked at before sockets are, so in a process that has itself stood still for so long, what has arrived
 * meanwhile is read first. @returns what to call when the answer is there
 */
export function afterSilence(ms: number, giveUp: () => void): () => void {
  let late: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    late = setImmediate(giveUp);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(late);
  };
}
