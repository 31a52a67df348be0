import { Counter, createMetrics, Gauge, type Registry } from '@fleet/service-kit';
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

/**
 * Creates the metrics of one service instance. They are read from the streams on each scrape, and the labels of a
 * stream disappear with it.
 */
export function createMediaMetrics(sources: {
  readonly registry: StreamRegistry;
  readonly transcoders: Transcoders;
  readonly ingest: IngestCounters;
}): Registry {
  const { registry, transcoders, ingest } = sources;
  const metrics = createMetrics('jt1078-media');
  for (const [key, [name, help]] of Object.entries(totalDefinitions) as [TotalName, [string, string]][])
    registerTotal(name, help, () => {
      let sum = registry.endedTotals[key];
      for (const stream of registry.streams) sum += key === 'droppedTags' ? stream.droppedTags : stream.counters[key];
      return sum;
    });
  registerTotal('media_connections_total', 'camera connections and UDP peers', () => ingest.connections);
  registerTotal('media_unsolicited_streams_total', 'unsolicited streams that were refused', () => ingest.unsolicited);
  registerGauge('media_streams', 'running streams', () => registry.size);
  registerGauge('media_viewers', 'viewers of running streams', () => {
    let viewers = 0;
    for (const stream of registry.streams) viewers += stream.viewers.size;
    return viewers;
  });
  registerGauge('media_transcoders', 'running ffmpeg processes', () => transcoders.count);
  for (const [name, help, read] of streamGauges)
    metrics.registerMetric(
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
      }),
    );
  return metrics;

  function registerTotal(name: string, help: string, read: () => number): void {
    metrics.registerMetric(
      new Counter({
        name,
        help,
        registers: [],
        collect() {
          this.reset();
          this.inc(read());
        },
      }),
    );
  }

  function registerGauge(name: string, help: string, read: () => number): void {
    metrics.registerMetric(
      new Gauge({
        name,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      }),
    );
  }
}
