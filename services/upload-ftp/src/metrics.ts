import { Counter, createMetrics, Gauge, type Registry } from '@fleet/service-kit';

export interface UploadMetrics {
  readonly registry: Registry;
  readonly logins: Counter<'result'>;
  readonly bytes: Counter;
  readonly transfers: Counter<'end'>;
  readonly settled: Counter<'status' | 'reason'>;
  readonly results: Counter<'outcome'>;
  readonly passiveExhausted: Counter;
  readonly saveFailures: Counter;
  /** Shows a number of the moment. */
  watch(name: 'sessions' | 'transfers' | 'free_bytes', read: () => number | Promise<number>): void;
}

const gauges = {
  sessions: ['upload_ftp_sessions', 'FTP control connections'],
  transfers: ['upload_ftp_transfers_active', 'files being received'],
  free_bytes: ['upload_ftp_free_bytes', 'free space where clips are stored'],
} as const;

export function uploadMetrics(): UploadMetrics {
  const registry = createMetrics('upload-ftp');
  const counter = <L extends string>(name: string, help: string, labelNames: L[] = []): Counter<L> =>
    new Counter({ name, help, labelNames, registers: [registry] });
  return {
    registry,
    logins: counter('upload_ftp_logins_total', 'FTP logins: accepted, refused, failed for a reason of ours', [
      'result',
    ]),
    bytes: counter('upload_ftp_bytes_total', 'bytes written to clip files'),
    transfers: counter('upload_ftp_transfers_total', 'transfers by end: whole, or the reply code', ['end']),
    settled: counter('upload_ftp_settled_total', 'uploads that ended here', ['status', 'reason']),
    results: counter('upload_ftp_results_total', '0x1206 notices: applied, ignored, unmatched, unreadable', [
      'outcome',
    ]),
    passiveExhausted: counter('upload_ftp_passive_exhausted_total', 'PASV and EPSV without a free port'),
    saveFailures: counter('upload_ftp_save_failures_total', 'progress that could not be saved at once'),
    watch: (name, read) => {
      const [metric, help] = gauges[name];
      const gauge = new Gauge({
        name: metric,
        help,
        registers: [],
        async collect() {
          this.set(await read());
        },
      });
      registry.registerMetric(gauge);
    },
  };
}
