import type { Redis } from '@fleet/storage';

/** What has become of the SMS that wakes a device: nobody has sent one lately and this caller is to do it, another request is at it, or it is on its way. */
export type WakeMessage = 'ours' | 'underWay' | 'sent';

const key = (imei: string): string => `wake-sms:${imei}`;

/** Lets one request of all replicas send the SMS; a sender that dies gives way after `sendingMs`. */
export async function claimWakeMessage(redis: Redis, imei: string, sendingMs: number): Promise<WakeMessage> {
  const claimed = await redis.set(key(imei), 'sending', {
    condition: 'NX',
    expiration: { type: 'PX', value: sendingMs },
  });
  if (claimed !== null) return 'ours';
  return (await redis.get(key(imei))) === 'sent' ? 'sent' : 'underWay';
}

/** The SMS is on its way: no other is sent for some time. */
export async function keepWakeMessage(redis: Redis, imei: string, forMs: number): Promise<void> {
  await redis.set(key(imei), 'sent', { expiration: { type: 'PX', value: forMs } });
}

/** The SMS could not be sent: the next request may try again. */
export async function dropWakeMessage(redis: Redis, imei: string): Promise<void> {
  await redis.del(key(imei));
}
