import type { StreamId } from '@fleet/storage';

/** Returns the name of a stream within this process and in logs. */
export const formatStreamName = (id: StreamId): string => `${id.kind}/${id.imei}/${id.channel}`;

/** Returns the canonical number of a SIM in the media connection, without leading zeros; null for all zeros. */
export function canonicalizeSim(sim: string): string | null {
  const significant = sim.replace(/^0+/, '').toUpperCase();
  return significant === '' ? null : significant;
}
