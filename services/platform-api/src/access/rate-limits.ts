import { type Rate, RateLimits as SharedRateLimits } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import type { Config } from '../assembly/config.ts';
import type { Caller } from './caller.ts';

/** Names of the rate limits (docs/reference/conventions.md). */
export type Bucket =
  | 'platform'
  | 'dashboard'
  | 'login'
  | 'refresh'
  | 'codes'
  | 'geocode'
  | 'extraction'
  | 'userSearch'
  | 'deviceLookup'
  | 'shareLink'
  | 'partner'
  | 'webhookTest'
  | 'testMail'
  | 'capture'
  | 'command';

/** The rate limits of the Platform API. */
export type RateLimits = Pick<SharedRateLimits<Bucket>, 'consume'>;

/** What the guard counts each bucket by. Domains count the other buckets themselves, with data from the request. */
export const countedBy: Readonly<Partial<Record<Bucket, 'key' | 'user' | 'address'>>> = {
  platform: 'key',
  dashboard: 'user',
  login: 'address',
  // All users of an office share one address, and each window refreshes. Refresh tokens cannot be guessed.
  refresh: 'address',
  geocode: 'key',
  extraction: 'user',
  userSearch: 'user',
  deviceLookup: 'user',
  shareLink: 'address',
};

/** Returns the bucket of a request. Users of the dashboard share its key, so each has a bucket. */
export const chooseBucket = (bucket: Bucket, caller: Pick<Caller, 'isDashboard'> | undefined): Bucket =>
  bucket === 'platform' && caller?.isDashboard === true ? 'dashboard' : bucket;

/**
 * Returns the key under which a bucket counts a request: the API key, else the user, else the IP address. Requests with
 * a dashboard key are counted for their user.
 */
export function countKey(
  by: 'key' | 'user' | 'address',
  caller: Pick<Caller, 'userId' | 'keyId' | 'isDashboard'> | undefined,
  ip: string | undefined,
): string {
  if (by === 'address' || caller === undefined) return `ip:${ip ?? ''}`;
  return by === 'user' || caller.keyId === null || caller.isDashboard === true
    ? `user:${caller.userId}`
    : `key:${caller.keyId}`;
}

const perMinute = (count: number): Rate => ({ burst: count, perSecond: count / 60 });

const createRates = (config: Config): Record<Exclude<Bucket, 'command'>, Rate> => ({
  platform: { burst: config.RATE_LIMIT_PLATFORM_BURST, perSecond: config.RATE_LIMIT_PLATFORM_PER_MINUTE / 60 },
  dashboard: { burst: config.RATE_LIMIT_DASHBOARD_BURST, perSecond: config.RATE_LIMIT_DASHBOARD_PER_MINUTE / 60 },
  login: perMinute(config.RATE_LIMIT_LOGIN_PER_MINUTE),
  refresh: perMinute(config.RATE_LIMIT_REFRESH_PER_MINUTE),
  codes: { burst: config.RATE_LIMIT_CODES_PER_HOUR, perSecond: config.RATE_LIMIT_CODES_PER_HOUR / 3600 },
  geocode: perMinute(config.RATE_LIMIT_GEOCODE_PER_MINUTE),
  extraction: perMinute(config.RATE_LIMIT_EXTRACTION_PER_MINUTE),
  userSearch: perMinute(config.RATE_LIMIT_USER_SEARCH_PER_MINUTE),
  deviceLookup: perMinute(config.RATE_LIMIT_DEVICE_LOOKUP_PER_MINUTE),
  shareLink: perMinute(config.RATE_LIMIT_SHARE_LINK_PER_MINUTE),
  partner: { burst: config.RATE_LIMIT_PARTNER_PER_SECOND, perSecond: config.RATE_LIMIT_PARTNER_PER_SECOND },
  webhookTest: perMinute(config.RATE_LIMIT_WEBHOOK_TEST_PER_MINUTE),
  testMail: { burst: config.RATE_LIMIT_TEST_MAIL_PER_HOUR, perSecond: config.RATE_LIMIT_TEST_MAIL_PER_HOUR / 3600 },
  capture: perMinute(config.RATE_LIMIT_CAPTURE_PER_MINUTE),
});

const createCommandRate = (config: Config): Rate => ({
  burst: config.RATE_LIMIT_COMMANDS_BURST,
  perSecond: config.RATE_LIMIT_COMMANDS_PER_MINUTE / 60,
});

export function createPlatformRateLimits(config: Config, redis: Redis): RateLimits {
  const own = new SharedRateLimits(createRates(config), redis, 'rate-limit:platform-api');
  // A device has one bucket for its commands, shared with device-api.
  const devices = new SharedRateLimits({ command: createCommandRate(config) }, redis, 'rate-limit');
  return {
    consume: (bucket, key, context) =>
      bucket === 'command' ? devices.consume(bucket, key, context) : own.consume(bucket, key, context),
  };
}
