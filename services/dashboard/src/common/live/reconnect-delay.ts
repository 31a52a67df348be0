const firstDelayMs = 1_000;
const maxDelayMs = 30_000;

/**
 * Returns the milliseconds before an attempt to connect: up to one second, doubling to 30 seconds. It is a random part
 * of that time, so that the clients of a restarted server do not return together.
 */
export const reconnectDelayMs = (attempt: number, random = Math.random()): number =>
  Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempt, 10)) * random;
