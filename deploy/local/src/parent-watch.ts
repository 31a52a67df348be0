const pollMs = 500;

/**
 * Calls `onEnd` when the parent process has exited, for whatever reason: npm cannot forward the signal when it is
 * killed.
 */
export function onParentExit(onEnd: () => void, parentId: () => number = () => process.ppid): () => void {
  const parent = parentId();
  const timer = setInterval(() => {
    if (parentId() === parent) return;
    clearInterval(timer);
    onEnd();
  }, pollMs);
  timer.unref();
  return () => clearInterval(timer);
}
