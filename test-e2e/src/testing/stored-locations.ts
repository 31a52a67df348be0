import { type ReportRecord, toEpochMs } from '@fleet/terminal-simulator';
import type { PlatformClient, PlatformRecord } from './platform-client.ts';

/** Maximum page size of a history. */
const pageSize = 10_000;
/** Offsets of the coordinates in the basic location, in millionths of a degree (JT/T 808-2013 table 23). */
const latitudeAt = 8;
const longitudeAt = 12;

const formatName = (timestamp: number, latitude: number, longitude: number): string =>
  `${timestamp}/${latitude.toFixed(6)}/${longitude.toFixed(6)}`;

/** Formats time and position of a report as `readStoredLocations` does. */
export const formatLocationName = ({ time, body }: ReportRecord): string =>
  formatName(toEpochMs(time), body.readUInt32BE(latitudeAt) / 1e6, body.readUInt32BE(longitudeAt) / 1e6);

/** Returns time and position of all points in a vehicle's history between two times, in order. */
export async function readStoredLocations(
  client: PlatformClient,
  vehicleId: number,
  window: { readonly fromMs: number; readonly toMs: number },
): Promise<string[]> {
  const names: string[] = [];
  let from = window.fromMs;
  for (;;) {
    const path = `/vehicles/${vehicleId}/locations?from=${from}&to=${window.toMs}&limit=${pageSize}`;
    const points = (await client.request(path))['data'] as PlatformRecord[];
    for (const { timestamp, latitude, longitude } of points)
      names.push(formatName(Number(timestamp), Number(latitude), Number(longitude)));
    if (points.length < pageSize) return names;
    from = Number(points.at(-1)?.['timestamp']) + 1;
  }
}
