import type { Deps } from '../platform/deps.ts';
import type { RuleSettings } from '../rules/rule-settings.ts';
import type { AttachmentsQueue } from './attachments-queue.ts';
import type { Evaluators } from './evaluate-report.ts';
import type { ReturningTerminals } from './publish-positions.ts';
import type { TelemetryMetrics } from './telemetry-metrics.ts';
import type { VehicleContextCache } from './vehicle-context-cache.ts';

/** Dependencies of all partitions of a replica. */
export interface TelemetryDeps extends Pick<Deps, 'bus' | 'redis' | 'database' | 'notifications' | 'config' | 'log'> {
  readonly vehicles: VehicleContextCache;
  readonly evaluators: Pick<Evaluators, 'rules' | 'odometer'>;
  readonly settings: RuleSettings;
  readonly metrics: TelemetryMetrics;
  /** Null if attachments of alarms are not requested. */
  readonly attachments: AttachmentsQueue | null;
  /** Creation time of the stream TELEMETRY. */
  readonly stream: string;
  /** Called with terminals that reported, by canonical number, some of them after a long silence. */
  readonly onReports: (imeis: Iterable<string>, returned: ReturningTerminals) => void;
}
