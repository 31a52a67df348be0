import { terminalKey } from '@fleet/jt808';
import type { Redis } from '@fleet/storage';
import type { LastLocation } from './schema.ts';

const keyOf = (imei: string): string => `last-location:${imei}`;
const readAtOnce = 1_000;

/** Returns the newest positions of terminals by canonical number, without terminals that never reported. */
export async function readLastLocations(redis: Redis, imeis: readonly string[]): Promise<Map<string, LastLocation>> {
  const found = new Map<string, LastLocation>();
  for (let at = 0; at < imeis.length; at += readAtOnce) {
    const part = imeis.slice(at, at + readAtOnce);
    const texts = await redis.mGet(part.map(keyOf));
    texts.forEach((text, i) => {
      const imei = part[i];
      if (text !== null && imei !== undefined) found.set(imei, JSON.parse(text) as LastLocation);
    });
  }
  return found;
}

/** Stores the newest position of a terminal. The caller ensures that it is newer than the stored one. */
export async function writeLastLocation(redis: Redis, location: LastLocation): Promise<void> {
  const imei = terminalKey(location.imei);
  if (imei === null) throw new Error(`${location.imei} is not a terminal number`);
  await redis.set(keyOf(imei), JSON.stringify(location));
}
