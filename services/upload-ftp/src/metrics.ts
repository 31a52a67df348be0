import { Counter, createMetrics, Gauge, type Registry } from '@fleet/service-kit';

/** Files that terminals send on their own. */
export interface MediaMetrics {
  readonly stored: Counter<'kind' | 'source'>;
  readonly storedBytes: Counter;
  /** On disk, but not yet in object storage or told of. */
  readonly delayed: Counter;
  readonly picturesDropped: Counter<'reason'>;
  readonly picturesWaiting: Counter;
  /** Shows how many files are yet to be told of. */
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
  /** Shows a number of the moment. */
  observe(name: 'sessions' | 'transfers' | 'free_bytes', read: () => number | Promise<number>): void;
}

const gauges = {
  sessions: ['upload_ftp_sessions', 'FTP control connections'],
  transfers: ['upload_ftp_transfers_active', 'files being received'],
  free_bytes: ['upload_ftp_free_bytes', 'free space where clips are stored'],
  untold: ['upload_ftp_media_files_untold', 'files of terminals that are yet to be told of'],
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
    logins: counter('upload_ftp_logins_total', 'FTP logins: accepted, refused, failed for a reason of ours', [
      'result',
    ]),
    bytes: counter('upload_ftp_bytes_total', 'bytes written to clip files'),
    transfers: counter('upload_ftp_transfers_total', 'transfers by end: whole, or the reply code', ['end']),
    finalized: counter('upload_ftp_settled_total', 'uploads that ended here', ['status', 'reason']),
    results: counter('upload_ftp_results_total', '0x1206 notices: applied, ignored, unmatched, unreadable', [
      'outcome',
    ]),
    passiveExhausted: counter('upload_ftp_passive_exhausted_total', 'PASV and EPSV without a free port'),
    saveFailures: counter('upload_ftp_save_failures_total', 'progress that could not be saved at once'),
    media: createMediaMetrics(counter, (read) => observe('untold', read)),
    observe,
  };
}

const createMediaMetrics = (
  counter: CounterOf,
  observePendingEvents: MediaMetrics['observePendingEvents'],
): MediaMetrics => ({
  stored: counter('upload_ftp_media_files_total', 'files of terminals that were kept', ['kind', 'source']),
  storedBytes: counter('upload_ftp_media_bytes_total', 'their bytes'),
  delayed: counter(
    'upload_ftp_media_delayed_total',
    'files that were on disk, but could not be moved or told of at once',
  ),
  picturesDropped: counter('upload_ftp_pictures_dropped_total', '0x0801 without a file: unreadable, empty', ['reason']),
  picturesWaiting: counter('upload_ftp_pictures_waiting_total', 'tries to keep a picture without room for it'),
  observePendingEvents,
});
