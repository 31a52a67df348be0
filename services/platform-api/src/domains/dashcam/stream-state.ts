import { BusError, queryStream, request, type StreamChanged, streamStatusEvent } from '@fleet/bus';
import { readStream, type StreamId } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';

const queryTimeoutMs = 1_500;

/**
 * Returns the state of a live stream, or null if the channel does not stream: from the media pod that has it, or
 * `starting` while its camera has accepted and sent nothing yet.
 */
export async function readStreamState(
  { bus, redis }: Pick<Deps, 'bus' | 'redis'>,
  imei: string,
  channel: number,
): Promise<StreamChanged | null> {
  const id: StreamId = { kind: 'live', imei, channel };
  const { claim, request: pending } = await readStream(redis, id);
  if (claim !== null) {
    const streamType = claim.request?.streamType ?? 0;
    const unknownState = { ...streamStatusEvent(id, 'starting', streamType), startedAtMs: claim.startedAtMs };
    try {
      const { isRunning, state } = await request(bus, queryStream(claim.podId), id, { timeoutMs: queryTimeoutMs });
      return isRunning ? (state ?? { ...unknownState, status: 'streaming' }) : null;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      // The pod has died, unless it is only slow: its claim expires soon.
      return error.kind === 'noResponders' ? null : { ...unknownState, status: 'streaming' };
    }
  }
  return pending?.status === 'acknowledged' ? streamStatusEvent(id, 'starting', pending.streamType) : null;
}
