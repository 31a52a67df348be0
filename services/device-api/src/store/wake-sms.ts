import type { Redis } from '@fleet/storage';

/** State of the wake-up SMS of a device: this caller may send it, another request is sending it, or it was sent. */
type WakeSmsClaim = 'ours' | 'underWay' | 'sent';

const redisKey = (imei: string): string => `wake-sms:${imei}`;

/** Lets one request of all replicas send the SMS; the claim of a dead sender expires after `sendingMs`. */
export async function claimWakeSms(redis: Redis, imei: string, claimTtlMs: number): Promise<WakeSmsClaim> {
  const claimed = await redis.set(redisKey(imei), 'sending', {
    condition: 'NX',
    expiration: { type: 'PX', value: claimTtlMs },
  });
  if (claimed !== null) return 'ours';
  return (await redis.get(redisKey(imei))) === 'sent' ? 'sent' : 'underWay';
}

/** Records that the SMS was sent: no other is sent for some time. */
export async function confirmWakeSms(redis: Redis, imei: string, ttlMs: number): Promise<void> {
  await redis.set(redisKey(imei), 'sent', { expiration: { type: 'PX', value: ttlMs } });
}

/** Releases the claim after a failure: the next request may retry. */
export async function releaseWakeSms(redis: Redis, imei: string): Promise<void> {
  await redis.del(redisKey(imei));
}
