import pLimit, { type LimitFunction } from 'p-limit';

/**
 * Limits concurrent searches to two, because each holds its visited nodes in memory and slows down the other. Further
 * searches wait in order.
 */
export const searchLimit = (): LimitFunction => pLimit(2);
