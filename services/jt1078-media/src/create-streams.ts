import type { Bus, DeviceCommandClient } from '@fleet/bus';
import type { Lifecycle, Logger, Registry } from '@fleet/service-kit';
import type { Redis, StreamId } from '@fleet/storage';
import type { Config } from './config.ts';
import { isContinuedElsewhere } from './domain/end-reason.ts';
import { StreamRegistry } from './domain/stream-registry.ts';
import type { IngestCounters } from './ingest/camera-connection.ts';
import { StreamClaims } from './store/stream-claims.ts';
import type { Transcoders } from './transcode/transcoders.ts';
import { AacFormats, parseAacFormats } from './use-cases/aac-formats.ts';
import { commandCamera } from './use-cases/command-camera.ts';
import { DataUsageReporter } from './use-cases/data-usage-reporter.ts';
import { HlsOutputs } from './use-cases/hls-outputs.ts';
import { PlaybackProgressPublisher } from './use-cases/playback-progress-publisher.ts';
import { StreamEventPublisher } from './use-cases/stream-event-publisher.ts';
import { StreamSwitch } from './use-cases/stream-switch.ts';
import { TerminalAudioProfiles } from './use-cases/terminal-audio.ts';

const gopCacheBytes = 4 * 1024 * 1024;
const gopCacheTags = 4096;
const historyHardQueueBytes = 16 * 1024 * 1024;

/** Connections and helpers that every part of the service uses. */
export interface MediaDeps {
  readonly redis: Redis;
  readonly bus: Bus;
  readonly commandClient: DeviceCommandClient;
  readonly transcoders: Transcoders;
  readonly metrics: Registry;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
}

/** The parts that hold the streams of this pod. */
export interface Streams {
  readonly registry: StreamRegistry;
  readonly claims: StreamClaims;
  readonly eventPublisher: StreamEventPublisher;
  readonly playbackPublisher: PlaybackProgressPublisher;
  readonly streamSwitch: StreamSwitch;
  readonly profiles: TerminalAudioProfiles;
  readonly hls: HlsOutputs;
  readonly counters: IngestCounters;
  readonly usageReporter: DataUsageReporter;
}

/** Creates the parts that hold the streams of this pod. */
export function createStreams(config: Config, owner: { podId: string; url: string }, deps: MediaDeps): Streams {
  const { redis, bus, commandClient, transcoders, log } = deps;
  const eventPublisher = new StreamEventPublisher(bus);
  const playbackPublisher = new PlaybackProgressPublisher(bus);
  const onRestored = (id: StreamId): void => eventPublisher.invalidate(id);
  const acceptUnsolicited = config.MEDIA_ACCEPT_UNSOLICITED;
  const claims = new StreamClaims({ redis, owner, acceptUnsolicited, onRestored, log });
  const usageReporter = new DataUsageReporter(bus, owner.podId, log);
  const profiles = new TerminalAudioProfiles({ redis, commandClient, log });
  const aacFormats = new AacFormats({ profiles, configured: parseAacFormats(config.MEDIA_AAC_FORMATS), log });
  const hls = new HlsOutputs(log);
  const registry = new StreamRegistry({
    claims,
    limits: toStreamLimits(config),
    transcoders,
    findAacFormat: (imei) => aacFormats.find(imei),
    stopCamera: (id, reason) => commandCamera(deps, id, 'stop', reason),
    onEnd: (stream, reason) => {
      usageReporter.onEnded(stream);
      eventPublisher.publishEnded(stream, reason);
      if (isContinuedElsewhere(reason)) return;
      playbackPublisher.publishEnded(stream);
      void streamSwitch.deleteViewers(stream);
    },
    findContinuation: (stream) => hls.findContinuation(stream.id),
    log,
  });
  const streamSwitch = new StreamSwitch({ ...deps, registry, renewClaim: (id, claim) => claims.renew(id, claim) });
  const counters: IngestCounters = { connections: 0, unsolicited: 0, invalidSims: 0, droppedPending: 0 };
  return {
    registry,
    claims,
    eventPublisher,
    playbackPublisher,
    streamSwitch,
    profiles,
    hls,
    counters,
    usageReporter,
  };
}

const toStreamLimits = (config: Config) => ({
  idleStopMs: config.MEDIA_IDLE_STOP_MS,
  graceMs: config.MEDIA_GRACE_MS,
  dataTimeoutMs: config.MEDIA_DATA_TIMEOUT_MS,
  firstFrameWaitMs: config.MEDIA_FIRST_FRAME_WAIT_MS,
  maxCacheTags: gopCacheTags,
  maxCacheBytes: gopCacheBytes,
  hardQueueBytes: historyHardQueueBytes,
});
