import type { Lifecycle, Registry } from '@fleet/service-kit';
import { startAttachments } from '../event-consumers/attachments.ts';
import { startEventConsumers } from '../event-consumers/start-event-consumers.ts';
import { startNotificationConsumers } from '../notification-delivery/notification-consumers.ts';
import type { Deps } from '../platform/deps.ts';
import { startTelemetry } from '../telemetry/start.ts';

/** Starts the role `telemetry`: consumes reports and events, creates notifications and delivers them. */
export function startTelemetryRole(deps: Deps, lifecycle: Lifecycle, registry: Registry): void {
  const { onReports } = startEventConsumers(deps, lifecycle);
  startAttachments(deps, lifecycle, { registry });
  startNotificationConsumers(deps, lifecycle, { registry });
  startTelemetry(deps, lifecycle, { registry, onReports });
}
