import { Counter, Gauge, type Registry } from '@fleet/service-kit';

export interface AttachmentMetrics {
  readonly lists: Counter<'result'>;
  readonly files: Counter<'result'>;
  readonly bytes: Counter;
  readonly closed: Counter<'reason'>;
  readonly dropped: Counter<'kind'>;
  /** Registers a gauge that reads its value at each scrape. */
  observe(name: 'connections' | 'open_files', read: () => number): void;
}

const gauges = {
  connections: 'connections of terminals that send attachments of alarms',
  open_files: 'incomplete attachments with received data',
} as const;

export function createAttachmentMetrics(registry: Registry): AttachmentMetrics {
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> =>
    new Counter({ name: `upload_ftp_attachment_${name}_total`, help, labelNames, registers: [registry] });
  return {
    lists: counter('lists', '0x1210: accepted, refused, unreadable, or failed for an internal reason', ['result']),
    files: counter(
      'files',
      '0x1212: kept (stored now), known (stored before), incomplete, refused, or failed for an internal reason',
      ['result'],
    ),
    bytes: counter('bytes', 'bytes of attachments written'),
    closed: counter('closed', 'closed attachment connections by reason', ['reason']),
    dropped: counter('dropped', 'discarded input by kind', ['kind']),
    observe: (name, read) => {
      const gauge = new Gauge({
        name: `upload_ftp_attachment_${name}`,
        help: gauges[name],
        registers: [],
        collect() {
          this.set(read());
        },
      });
      registry.registerMetric(gauge);
    },
  };
}
