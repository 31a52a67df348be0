import type { Report } from '../telemetry/report.ts';
import type { Raised } from './rule.ts';

/** What is particular to something that is raised where and when the report was made. */
export type Found = Pick<Raised, 'type' | 'subject' | 'attributes'>;

/** Raised at the place and time of a report. */
export const raisedBy = ({ position }: Report, found: Found): Raised => ({
  ...found,
  atMs: position.timestamp,
  latitude: position.latitude,
  longitude: position.longitude,
  gpsValid: position.gpsValid,
  backfilled: position.backfilled,
});
