import { Counter, Gauge, type Registry } from '@fleet/service-kit';
import type { MediaStream } from './domain/media-stream.ts';
import type { StreamRegistry } from './domain/stream-registry.ts';
import type { IngestCounters } from './ingest/camera-connection.ts';
import type { Transcoders } from './transcode/transcoders.ts';

type TotalName =
  | 'packets'
  | 'bytes'
  | 'lostPackets'
  | 'repeatedPackets'
  | 'brokenFrames'
  | 'droppedTags'
  | 'reconnects';

const totalDefinitions: Readonly<Record<TotalName, [name: string, help: string]>> = {
  packets: ['media_packets_total', 'JT/T 1078 packets received'],
  bytes: ['media_received_bytes_total', 'bytes of JT/T 1078 packets received'],
  lostPackets: ['media_lost_packets_total', 'packets missing from the sequence'],
  repeatedPackets: ['media_repeated_packets_total', 'packets dropped as duplicates'],
  brokenFrames: ['media_broken_frames_total', 'frames dropped because a part was missing'],
  droppedTags: ['media_dropped_frames_total', 'frames dropped for slow viewers'],
  reconnects: ['media_camera_reconnects_total', 'connections that took over a running stream'],
};

const streamGauges: readonly [name: string, help: string, read: (stream: MediaStream) => number | null][] = [
  ['media_stream_packets', 'packets of a running stream', ({ counters }) => counters.packets],
  ['media_stream_received_bytes', 'bytes of a running stream', ({ counters }) => counters.bytes],
  ['media_stream_lost_packets', 'packets lost by a running stream', ({ counters }) => counters.lostPackets],
  ['media_stream_broken_frames', 'broken frames of a running stream', ({ counters }) => counters.brokenFrames],
  ['media_stream_viewers', 'viewers of a running stream', ({ viewers }) => viewers.size],
  [
    'media_stream_dropped_frames',
    'frames dropped for slow viewers of a running stream',
    ({ droppedTags }) => droppedTags,
  ],
  [
    'media_stream_first_key_frame_seconds',
    'time from the first packet to the first key frame',
    ({ firstKeyFrameAtMs, startedAtMs }) =>
      firstKeyFrameAtMs === null ? null : (firstKeyFrameAtMs - startedAtMs) / 1000,
  ],
];

interface MetricSources {
  readonly registry: StreamRegistry;
  readonly transcoders: Transcoders;
  readonly ingest: IngestCounters;
}

/**
 * Registers the metrics of the streams. They are read from the streams on each scrape, and the labels of a
 * stream disappear with it.
 */
export function registerMediaMetrics(metrics: Registry, { registry, transcoders, ingest }: MetricSources): void {
  for (const [key, [name, help]] of Object.entries(totalDefinitions) as [TotalName, [string, string]][])
    metrics.registerMetric(createTotal(name, help, () => sumOf(registry, key)));
  for (const metric of [
    createTotal('media_connections_total', 'camera connections and UDP peers', () => ingest.connections),
    createTotal('media_unsolicited_streams_total', 'unsolicited streams that were refused', () => ingest.unsolicited),
    createGauge('media_streams', 'running streams', () => registry.size),
    createGauge('media_viewers', 'viewers of running streams', () => countViewers(registry)),
    createGauge('media_transcoders', 'running ffmpeg processes', () => transcoders.count),
    createGauge('media_transcoders_limit', 'maximum of running ffmpeg processes', () => transcoders.maxProcesses),
    ...streamGauges.map((gauge) => createStreamGauge(registry, gauge)),
  ])
    metrics.registerMetric(metric);
}

function sumOf(registry: StreamRegistry, key: TotalName): number {
  let sum = registry.endedTotals[key];
  for (const stream of registry.streams) sum += key === 'droppedTags' ? stream.droppedTags : stream.counters[key];
  return sum;
}

function countViewers(registry: StreamRegistry): number {
  let viewers = 0;
  for (const stream of registry.streams) viewers += stream.viewers.size;
  return viewers;
}

/** Creates a gauge with one value for each running stream. */
const createStreamGauge = (registry: StreamRegistry, [name, help, read]: (typeof streamGauges)[number]) =>
  new Gauge({
    name,
    help,
    labelNames: ['kind', 'imei', 'channel'],
    registers: [],
    collect() {
      this.reset();
      for (const stream of registry.streams) {
        const value = read(stream);
        const { kind, imei, channel } = stream.id;
        if (value !== null) this.set({ kind, imei, channel }, value);
      }
    },
  });

const createTotal = (name: string, help: string, read: () => number) =>
  new Counter({
    name,
    help,
    registers: [],
    collect() {
      this.reset();
      this.inc(read());
    },
  });

const createGauge = (name: string, help: string, read: () => number) =>
  new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
