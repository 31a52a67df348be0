import type { Report } from '../telemetry/report.ts';
import type { Raised } from './rule.ts';

/** Specific parts of a finding at the time and position of a report. */
export type Found = Pick<Raised, 'type' | 'subject' | 'attributes'>;

/** Returns a finding at the time and position of a report. */
export const raisedBy = ({ position }: Report, found: Found): Raised => ({
  ...found,
  atMs: position.timestamp,
  latitude: position.latitude,
  longitude: position.longitude,
  gpsValid: position.gpsValid,
  backfilled: position.backfilled,
});
