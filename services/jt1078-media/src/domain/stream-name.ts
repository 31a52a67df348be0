import type { StreamId } from '@fleet/storage';

/** Names a stream within this process and in logs. */
export const formatStreamName = (id: StreamId): string => `${id.kind}/${id.imei}/${id.channel}`;

/** The canonical number behind a SIM of the media connection: leading zeros removed; null for all zeros. */
export function canonicalizeSim(sim: string): string | null {
  const significant = sim.replace(/^0+/, '').toUpperCase();
  return significant === '' ? null : significant;
}
