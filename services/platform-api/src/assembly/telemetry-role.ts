import type { Lifecycle, Registry } from '@fleet/service-kit';
import { startAttachmentConsumers } from '../event-consumers/attachments.ts';
import { startEventConsumers } from '../event-consumers/start-event-consumers.ts';
import { startNotificationConsumers } from '../notification-delivery/notification-consumers.ts';
import type { Deps } from '../platform/deps.ts';
import { startTelemetry } from '../telemetry/start.ts';

/** Starts the role `telemetry`: consumes reports and events, creates notifications and delivers them. */
export function startTelemetryRole(deps: Deps, lifecycle: Lifecycle, registry: Registry): void {
  const events = startEventConsumers(deps);
  lifecycle.onStop('event consumers', () => events.stop());
  if (deps.config.ATTACHMENTS_ENABLED) {
    const attachments = startAttachmentConsumers(deps, { registry });
    lifecycle.onStop('attachments', () => attachments.stop());
  }
  const notifications = startNotificationConsumers(deps, { registry });
  lifecycle.onStop('notification consumers', () => notifications.stop());
  startTelemetry(deps, lifecycle, { registry, onReports: events.onReports });
}
