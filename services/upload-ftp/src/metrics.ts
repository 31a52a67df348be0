import { Counter, createMetrics, Gauge, type Registry } from '@fleet/service-kit';

/** Metrics of files that terminals send on their own. */
export interface MediaMetrics {
  readonly stored: Counter<'kind' | 'source'>;
  readonly storedBytes: Counter;
  /** Counts files that are on disk, but not yet in object storage or published. */
  readonly delayed: Counter;
  readonly picturesDropped: Counter<'reason'>;
  readonly picturesWaiting: Counter;
  /** Registers a gauge of the number of unpublished files. */
  observePendingEvents(read: () => Promise<number>): void;
}

export interface UploadMetrics {
  readonly registry: Registry;
  readonly logins: Counter<'result'>;
  readonly bytes: Counter;
  readonly transfers: Counter<'end'>;
  readonly finalized: Counter<'status' | 'reason'>;
  readonly results: Counter<'outcome'>;
  readonly passiveExhausted: Counter;
  readonly saveFailures: Counter;
  readonly media: MediaMetrics;
  /** Registers a gauge that reads its value at each scrape. */
  observe(name: 'sessions' | 'transfers' | 'free_bytes', read: () => number | Promise<number>): void;
}

const gauges = {
  sessions: ['upload_ftp_sessions', 'FTP control connections'],
  transfers: ['upload_ftp_transfers_active', 'files being received'],
  free_bytes: ['upload_ftp_free_bytes', 'free disk space for clips'],
  unpublished: ['upload_ftp_media_files_unpublished', 'files of terminals that are not published yet'],
} as const;

type CounterOf = <L extends string>(name: string, help: string, labelNames?: L[]) => Counter<L>;

export function createUploadMetrics(): UploadMetrics {
  const registry = createMetrics('upload-ftp');
  const counter: CounterOf = (name, help, labelNames = []) =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const observe = (name: keyof typeof gauges, read: () => number | Promise<number>): void => {
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
  };
  return {
    registry,
    logins: counter('upload_ftp_logins_total', 'FTP logins: accepted, refused, or failed for an internal reason', [
      'result',
    ]),
    bytes: counter('upload_ftp_bytes_total', 'bytes written to clip files'),
    transfers: counter('upload_ftp_transfers_total', 'transfers by end: whole, or the reply code', ['end']),
    finalized: counter('upload_ftp_finalized_total', 'uploads finalized by this pod', ['status', 'reason']),
    results: counter('upload_ftp_results_total', '0x1206 results: applied, ignored, unmatched, unreadable', [
      'outcome',
    ]),
    passiveExhausted: counter('upload_ftp_passive_exhausted_total', 'PASV and EPSV without a free port'),
    saveFailures: counter('upload_ftp_save_failures_total', 'failed attempts to save progress'),
    media: createMediaMetrics(counter, (read) => observe('unpublished', read)),
    observe,
  };
}

const createMediaMetrics = (
  counter: CounterOf,
  observePendingEvents: MediaMetrics['observePendingEvents'],
): MediaMetrics => ({
  stored: counter('upload_ftp_media_files_total', 'stored files of terminals', ['kind', 'source']),
  storedBytes: counter('upload_ftp_media_bytes_total', 'bytes of stored files of terminals'),
  delayed: counter('upload_ftp_media_delayed_total', 'files on disk that could not be moved or published immediately'),
  picturesDropped: counter('upload_ftp_pictures_dropped_total', '0x0801 without a file: unreadable, empty', ['reason']),
  picturesWaiting: counter('upload_ftp_pictures_waiting_total', 'attempts to store a picture without disk space'),
  observePendingEvents,
});
