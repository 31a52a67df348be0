/** A task exceeded its time-out. */
export class LateError extends Error {
  override readonly name = 'LateError';
}

/** Waits for a task; throws after the time-out and ignores the later result. */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LateError(`time-out after ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
