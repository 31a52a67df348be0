import pLimit, { type LimitFunction } from 'p-limit';

/** Lets two searches go at a time: each holds what it has looked at in memory, and makes the other slower. Those that come meanwhile wait, and go in their order. */
export const searchLimit = (): LimitFunction => pLimit(2);
