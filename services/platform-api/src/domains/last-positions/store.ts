import type { Redis } from '@fleet/storage';
import { type LastLocation, lastLocationKey } from './schema.ts';

const readAtOnce = 1_000;

/** Returns the newest positions of terminals by canonical number, without terminals that never reported. */
export async function readLastLocations(redis: Redis, imeis: readonly string[]): Promise<Map<string, LastLocation>> {
  const found = new Map<string, LastLocation>();
  for (let at = 0; at < imeis.length; at += readAtOnce) {
    const part = imeis.slice(at, at + readAtOnce);
    const texts = await redis.mGet(part.map(lastLocationKey));
    texts.forEach((text, i) => {
      const imei = part[i];
      if (text !== null && imei !== undefined) found.set(imei, JSON.parse(text) as LastLocation);
    });
  }
  return found;
}
