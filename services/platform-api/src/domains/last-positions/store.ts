import { type LastLocation, type LocationDeps, lastLocationKey } from './schema.ts';

const readAtOnce = 1_000;

/**
 * Returns the newest positions of terminals by canonical number, without terminals that never reported. The client of a
 * cluster splits `mGet` by slot.
 */
export async function readLastLocations(
  { redis, config }: LocationDeps,
  imeis: readonly string[],
): Promise<Map<string, LastLocation>> {
  const found = new Map<string, LastLocation>();
  for (let at = 0; at < imeis.length; at += readAtOnce) {
    const part = imeis.slice(at, at + readAtOnce);
    const texts = await redis.mGet(part.map((imei) => lastLocationKey(imei, config)));
    texts.forEach((text, i) => {
      const imei = part[i];
      if (text !== null && imei !== undefined) found.set(imei, JSON.parse(text) as LastLocation);
    });
  }
  return found;
}
