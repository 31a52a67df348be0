/** Redis answers within a millisecond or is in trouble: no terminal waits longer for it. */
const limitMs = 500;

/** The state could not be read or written now. */
export class StateAwayError extends Error {
  override readonly name = 'StateAwayError';
}

/** The answer of a Redis command, or StateAwayError when it fails or hangs. */
export async function limited<T>(command: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new StateAwayError(`no answer within ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([command(), limit]);
  } catch (cause) {
    throw cause instanceof StateAwayError ? cause : new StateAwayError('Redis can not be reached', { cause });
  } finally {
    clearTimeout(timer);
  }
}
