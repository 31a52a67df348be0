/** The work did not end in time. */
export class LateError extends Error {
  override readonly name = 'LateError';
}

/** Waits for work for a limited time; afterwards a LateError is thrown, and what becomes of the work is nobody's concern. */
export async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LateError(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
