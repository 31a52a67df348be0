/** Zone of the standard: GMT+8. */
export const STANDARD_ZONE_MINUTES = 480;

/** Time on the camera's own clock, `YYYY-MM-DDThh:mm:ss` without a zone: compares as text. */
export function cameraTimeOf(epochMs: number, zoneMinutes = STANDARD_ZONE_MINUTES): string {
  return new Date(epochMs + zoneMinutes * 60_000).toISOString().slice(0, 19);
}

/** Instant of a time on the camera's clock. */
export function epochOf(cameraTime: string, zoneMinutes = STANDARD_ZONE_MINUTES): number {
  return Date.parse(`${cameraTime}Z`) - zoneMinutes * 60_000;
}
