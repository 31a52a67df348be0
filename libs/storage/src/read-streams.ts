import type { Redis } from './redis.ts';
import { parseJson, requestKey, streamKey } from './stream-keys.ts';
import type { StreamClaim, StreamId, StreamRequest } from './stream-state.ts';

/** Returns the claim of a stream (packets arrive), else its request. Throws if Redis cannot be read. */
export async function readStream(
  redis: Redis,
  id: StreamId,
): Promise<{ claim: StreamClaim | null; request: StreamRequest | null }> {
  const [claim, request] = await redis.mGet([streamKey(id), requestKey(id)]);
  return { claim: parseJson(claim) as StreamClaim | null, request: parseJson(request) as StreamRequest | null };
}

/**
 * Returns the number of a device's channels with live or recorded video or a request for it, from one round trip for
 * all 256.
 */
export async function countStreamingChannels(redis: Redis, imei: string): Promise<number> {
  const channelKeys = (channel: number): string[] =>
    (['live', 'history'] as const).flatMap((kind) => [
      streamKey({ kind, imei, channel }),
      requestKey({ kind, imei, channel }),
    ]);
  const values = await redis.mGet(Array.from({ length: 256 }, (_unused, channel) => channelKeys(channel)).flat());
  const channels = new Set<number>();
  for (const [index, value] of values.entries()) if (value !== null) channels.add(Math.floor(index / 4));
  return channels.size;
}
