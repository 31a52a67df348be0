import type { DeviceCommandClient } from '@fleet/bus';
import { Counter, type createMetrics, Gauge } from '@fleet/service-kit';
import type { AuditOutbox } from './access/audit-outbox.ts';

export type Metrics = ReturnType<typeof createMetrics>;

export function registerCommandMetrics(commandClient: DeviceCommandClient, metrics: Metrics): void {
  const gauge = new Gauge({
    name: 'device_api_commands_in_flight',
    help: 'Pending commands to devices',
    registers: [],
    collect() {
      this.set(commandClient.inFlight);
    },
  });
  metrics.registerMetric(gauge);
}

export function registerAuditMetrics(auditOutbox: AuditOutbox, metrics: Metrics): void {
  const pendingGauge = new Gauge({
    name: 'device_api_audit_entries_waiting',
    help: 'Audit events that JetStream has not stored yet',
    registers: [],
    collect() {
      this.set(auditOutbox.pending);
    },
  });
  const droppedCounter = new Counter({
    name: 'device_api_audit_entries_dropped_total',
    help: 'Audit events that were lost because JetStream was unavailable for too long',
    registers: [],
    collect() {
      this.reset();
      this.inc(auditOutbox.dropped);
    },
  });
  metrics.registerMetric(pendingGauge);
  metrics.registerMetric(droppedCounter);
}
