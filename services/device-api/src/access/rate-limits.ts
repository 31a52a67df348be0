import { type Rate, RateLimits as SharedRateLimits } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import type { Config } from '../config.ts';

/** Counters: requests of an address, reads of a key, commands to a device, openings of a channel. */
type Bucket = 'health' | 'reads' | 'command' | 'stream';

/** The limits of the Device API. */
export type RateLimits = SharedRateLimits<Bucket>;

const toRates = (config: Config): Record<Bucket, Rate> => ({
  health: { burst: config.RATE_LIMIT_HEALTH_BURST, perSecond: config.RATE_LIMIT_HEALTH_PER_SECOND },
  reads: { burst: config.RATE_LIMIT_READS_BURST, perSecond: config.RATE_LIMIT_READS_PER_SECOND },
  command: { burst: config.RATE_LIMIT_COMMANDS_BURST, perSecond: config.RATE_LIMIT_COMMANDS_PER_MINUTE / 60 },
  stream: {
    burst: config.RATE_LIMIT_STREAM_OPENS_PER_MINUTE,
    perSecond: config.RATE_LIMIT_STREAM_OPENS_PER_MINUTE / 60,
  },
});

export const createRateLimits = (config: Config, redis: Redis): RateLimits =>
  new SharedRateLimits(toRates(config), redis, 'rate-limit');
