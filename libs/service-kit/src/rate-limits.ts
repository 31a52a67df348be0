import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes, RLWrapperTimeouts } from 'rate-limiter-flexible';
import { AppError } from './errors.ts';
import type { RequestContext } from './route.ts';

/** How fast a bucket of tokens fills, and how many it holds. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** A Redis that needs longer than this counts as away, and this process counts alone. */
const redisLimitMs = 2_000;

/**
 * A token bucket in place of the library's fixed window: it refills all the time, so that a caller at the allowed rate is never refused. KEYS 1 bucket.
 * ARGV 1 tokens asked for, 2 seconds to live, 3 size. Answers what is spent (more than the size: refused) and the milliseconds to the next token, or, where
 * tokens are left, until the bucket is full.
 */
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
if wanted > size then return {size + 1, math.ceil((wanted - size) / perMs)} end
redis.call('SET', KEYS[1], string.format('%.4f:%.0f', wanted, now), 'EX', ARGV[2])
return {math.ceil(wanted), math.ceil(wanted / perMs)}`;

interface Limit {
  readonly limiter: RLWrapperTimeouts;
  readonly burst: number;
}

/** `redis` is a client of the package `redis`, as `@fleet/storage` opens it. */
function makeLimiter(redis: object, keyPrefix: string, { burst, perSecond }: Rate): RLWrapperTimeouts {
  // The time in which an empty bucket fills is also the window of the process's own counter.
  const duration = Math.max(1, Math.ceil(burst / perSecond));
  const shared = { keyPrefix, points: burst, duration };
  const limiter = new RateLimiterRedis({
    ...shared,
    storeClient: redis,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    customIncrTtlLuaScript: tokenBucketScript(perSecond),
  });
  return new RLWrapperTimeouts({ limiter, timeoutMs: redisLimitMs, insuranceLimiter: new RateLimiterMemory(shared) });
}

/** The limits behind 429, shared by all replicas through Redis; without Redis each process counts for itself, and nobody is refused for that. */
export class RateLimits<Bucket extends string> {
  readonly #limits: ReadonlyMap<string, Limit>;

  /** `prefix` keeps the buckets of services that share a Redis apart. */
  constructor(rates: Readonly<Record<Bucket, Rate>>, redis: object, prefix: string) {
    this.#limits = new Map(
      Object.entries<Rate>(rates).map(([bucket, rate]) => [
        bucket,
        { limiter: makeLimiter(redis, `${prefix}:${bucket}`, rate), burst: rate.burst },
      ]),
    );
  }

  /** Takes a token and tells the caller what is left, where there is an answer to tell it in, or refuses with 429. */
  async consume(bucket: Bucket, key: string, context?: Pick<RequestContext, 'response'>): Promise<void> {
    const limit = this.#limits.get(bucket);
    if (limit === undefined) throw new Error(`there is no bucket ${bucket}`);
    const { limiter, burst } = limit;
    try {
      const taken = await limiter.consume(key);
      context?.response.set(headersOf(taken, burst));
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      const seconds = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000));
      throw new AppError(
        'rate_limited',
        `Too many requests: ask again in ${seconds === 1 ? '1 second' : `${seconds} seconds`}.`,
        {
          headers: { ...headersOf(refusal, burst), 'Retry-After': String(seconds) },
        },
      );
    }
  }
}

const headersOf = (result: RateLimiterRes, burst: number): Record<string, string> => ({
  'X-RateLimit-Limit': String(burst),
  'X-RateLimit-Remaining': String(Math.max(0, result.remainingPoints)),
  'X-RateLimit-Reset': String(Math.ceil((Date.now() + result.msBeforeNext) / 1000)),
});
