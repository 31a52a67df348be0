import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, RLWrapperTimeouts } from 'rate-limiter-flexible';
import { AppError } from './errors.ts';
import type { RequestContext } from './route.ts';

/** Refill rate and size of a token bucket. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Redis time-out, after which this process counts alone. */
const redisTimeoutMs = 2_000;
/** Fractions of a second are rounded up, except those of a division. */
const roundingMs = 0.01;

// A token bucket instead of the library's fixed window: it refills continuously, so that a caller at the allowed rate
// is never rejected. KEYS 1 bucket. ARGV 1 requested tokens, 2 seconds to live, 3 size. Returns the spent tokens (more
// than the size: rejected) and the milliseconds until the bucket is full.
const tokenBucketScript = (perSecond: number): string => `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local size, perMs = tonumber(ARGV[3]), ${perSecond / 1000}
local spent, at = 0, now
local text = redis.call('GET', KEYS[1])
if text then
  local divider = string.find(text, ':')
  if divider then
    spent, at = tonumber(string.sub(text, 1, divider - 1)), tonumber(string.sub(text, divider + 1))
  end
end
spent = math.max(0, spent - math.max(0, now - at) * perMs)
local wanted = spent + tonumber(ARGV[1])
if wanted > size then return {size + 1, math.ceil(spent / perMs - 0.001)} end
redis.call('SET', KEYS[1], string.format('%.4f:%.0f', wanted, now), 'EX', ARGV[2])
return {math.ceil(wanted), math.ceil(wanted / perMs - 0.001)}`;

interface Limiter {
  readonly rate: Rate;
  /** Counts for all replicas. */
  readonly shared: RLWrapperTimeouts;
  /** Counts for this process while Redis is unavailable, in fixed windows. */
  readonly local: RateLimiterMemory;
}

// `redis` is a client of the package `redis`, as `@fleet/storage` creates it.
function createLimiter(redis: object, keyPrefix: string, rate: Rate): Limiter {
  const { burst, perSecond } = rate;
  // The refill time of an empty bucket is also the window of the process's own counter.
  const duration = Math.max(1, Math.ceil(burst / perSecond));
  const options = { keyPrefix, points: burst, duration };
  const limiter = new RateLimiterRedis({
    ...options,
    storeClient: redis,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    customIncrTtlLuaScript: tokenBucketScript(perSecond),
  });
  const shared = new RLWrapperTimeouts({ limiter, timeoutMs: redisTimeoutMs });
  return { rate, shared, local: new RateLimiterMemory(options) };
}

/** Remaining tokens of a bucket, and its times. */
interface ConsumeResult {
  readonly isRefused: boolean;
  readonly remaining: number;
  /** Time until the bucket is full. */
  readonly fullInMs: number;
  /** Time until one token is available. */
  readonly nextInMs: number;
}

async function consumeToken({ rate, shared, local }: Limiter, key: string): Promise<ConsumeResult> {
  try {
    return await toConsumeResult(
      shared.consume(key),
      (fullInMs) => fullInMs - ((rate.burst - 1) / rate.perSecond) * 1000,
    );
  } catch {
    // Redis is unavailable: no request is rejected for that.
    return toConsumeResult(local.consume(key), (fullInMs) => fullInMs);
  }
}

// A rejection is a result, too.
async function toConsumeResult(
  consumption: Promise<RateLimiterRes>,
  toNextInMs: (fullInMs: number) => number,
): Promise<ConsumeResult> {
  const [result, isRefused] = await consumption.then(
    (left) => [left, false] as const,
    (rejection: unknown) => {
      if (rejection instanceof RateLimiterRes) return [rejection, true] as const;
      throw rejection;
    },
  );
  const { msBeforeNext: fullInMs, remainingPoints } = result;
  return { isRefused, remaining: Math.max(0, remainingPoints), fullInMs, nextInMs: toNextInMs(fullInMs) };
}

/**
 * Applies the rate limits of 429, shared by all replicas through Redis. Without Redis each process counts alone, and no
 * request is rejected for that.
 */
export class RateLimits<Bucket extends string> {
  readonly #limiters: ReadonlyMap<string, Limiter>;

  /** `prefix` separates the buckets of services that share a Redis. */
  constructor(rates: Readonly<Record<Bucket, Rate>>, redis: object, prefix: string) {
    this.#limiters = new Map(
      Object.entries<Rate>(rates).map(([bucket, rate]) => [bucket, createLimiter(redis, `${prefix}:${bucket}`, rate)]),
    );
  }

  /** Takes a token and sets the rate limit headers of the response; throws 429 without a token. */
  async consume(bucket: Bucket, key: string, context?: Pick<RequestContext, 'response'>): Promise<void> {
    const limiter = this.#limiters.get(bucket);
    if (limiter === undefined) throw new Error(`there is no bucket ${bucket}`);
    const result = await consumeToken(limiter, key);
    const headers = rateLimitHeaders(result, limiter.rate);
    if (!result.isRefused) return void context?.response.set(headers);
    const seconds = Math.max(1, Math.ceil((result.nextInMs - roundingMs) / 1000));
    throw new AppError(
      'rate_limited',
      `Too many requests. Retry in ${seconds === 1 ? '1 second' : `${seconds} seconds`}.`,
      { headers: { ...headers, 'Retry-After': String(seconds) } },
    );
  }
}

const rateLimitHeaders = ({ remaining, fullInMs }: ConsumeResult, { burst }: Rate): Record<string, string> => ({
  'X-RateLimit-Limit': String(burst),
  'X-RateLimit-Remaining': String(remaining),
  'X-RateLimit-Reset': String(Math.ceil((Date.now() + fullInMs) / 1000)),
});
