import type { Redis } from '@fleet/storage';

/** State of the wake-up SMS of a device: this caller may send it, another request is sending it, or it was sent. */
export type WakeMessage = 'ours' | 'underWay' | 'sent';

const key = (imei: string): string => `wake-sms:${imei}`;

/** Lets one request of all replicas send the SMS; the claim of a dead sender expires after `sendingMs`. */
export async function claimWakeMessage(redis: Redis, imei: string, sendingMs: number): Promise<WakeMessage> {
  const claimed = await redis.set(key(imei), 'sending', {
    condition: 'NX',
    expiration: { type: 'PX', value: sendingMs },
  });
  if (claimed !== null) return 'ours';
  return (await redis.get(key(imei))) === 'sent' ? 'sent' : 'underWay';
}

/** Records that the SMS was sent: no other is sent for some time. */
export async function keepWakeMessage(redis: Redis, imei: string, forMs: number): Promise<void> {
  await redis.set(key(imei), 'sent', { expiration: { type: 'PX', value: forMs } });
}

/** Releases the claim after a failure: the next request may retry. */
export async function dropWakeMessage(redis: Redis, imei: string): Promise<void> {
  await redis.del(key(imei));
}
