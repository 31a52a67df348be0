import type { Lifecycle, Registry } from '@fleet/service-kit';
import { startAttachments } from '../event-consumers/attachments.ts';
import { startEvents } from '../event-consumers/start.ts';
import { startSenders } from '../notification-delivery/start.ts';
import type { Deps } from '../platform/deps.ts';
import { startTelemetry } from '../telemetry/start.ts';

/** Starts the role `telemetry`: reads reports and events, raises notifications and sends them. */
export function startTelemetryRole(deps: Deps, lifecycle: Lifecycle, registry: Registry): void {
  const { heard: onHeard } = startEvents(deps, lifecycle);
  startAttachments(deps, lifecycle, { registry });
  startSenders(deps, lifecycle, { registry });
  startTelemetry(deps, lifecycle, { registry, onHeard: onHeard });
}
