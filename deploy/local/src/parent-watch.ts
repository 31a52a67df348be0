const pollMs = 500;

/** Tells when the parent process has gone, however it went: npm, killed, cannot pass that on. */
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
