import type { Report } from '../telemetry/report.ts';
import type { Finding } from './rule.ts';

/** Specific parts of a finding at the time and position of a report. */
type FindingDetails = Pick<Finding, 'type' | 'subject' | 'attributes'>;

/** Returns a finding at the time and position of a report. */
export const findingAt = ({ position }: Report, found: FindingDetails): Finding => ({
  ...found,
  atMs: position.timestamp,
  latitude: position.latitude,
  longitude: position.longitude,
  gpsValid: position.gpsValid,
  backfilled: position.backfilled,
});
