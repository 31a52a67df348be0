/** Zone of the standard: GMT+8. */
export const standardZoneMinutes = 480;

/** Returns a time on the camera's own clock, `YYYY-MM-DDThh:mm:ss` without a zone; such times compare as text. */
export function toCameraTime(epochMs: number, zoneMinutes = standardZoneMinutes): string {
  return new Date(epochMs + zoneMinutes * 60_000).toISOString().slice(0, 19);
}

/** Returns the timestamp of a time on the camera's clock, in milliseconds since 1970. */
export function toEpochMs(cameraTime: string, zoneMinutes = standardZoneMinutes): number {
  return Date.parse(`${cameraTime}Z`) - zoneMinutes * 60_000;
}
