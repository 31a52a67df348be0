import type { Logger, Route } from '@fleet/service-kit';
import type { StreamKind } from '@fleet/storage';
import type { Config } from '../config.ts';
import type { ViewerLimits } from '../domain/flv-viewer.ts';
import type { StreamRegistry } from '../domain/stream-registry.ts';
import type { StreamClaims } from '../store/stream-claims.ts';
import type { HlsOutputs } from '../use-cases/hls-outputs.ts';
import type { TerminalAudioProfiles } from '../use-cases/terminal-audio.ts';
import type { StreamAccessDeps } from './stream-access.ts';
import { flvRoutes } from './stream-flv.ts';
import { hlsRoutes } from './stream-hls.ts';
import { mp4Routes } from './stream-mp4.ts';
import { streamsRoute } from './streams.ts';
import { talkRoute } from './talk.ts';

/** Larger than the cached group of pictures, which a new viewer gets immediately. */
const liveQueueBytes = 6 * 1024 * 1024;
const historyQueueBytes = 2 * 1024 * 1024;

const getViewerLimits = (config: Config, kind: StreamKind): ViewerLimits =>
  kind === 'live'
    ? {
        dropAfterMs: config.MEDIA_LIVE_DROP_AFTER_MS,
        closeAfterMs: config.MEDIA_LIVE_CLOSE_AFTER_MS,
        maxQueueBytes: liveQueueBytes,
      }
    : { dropAfterMs: null, closeAfterMs: config.MEDIA_HISTORY_CLOSE_AFTER_MS, maxQueueBytes: historyQueueBytes };

/** Parts of the service that routes use. */
interface RouteParts {
  readonly registry: StreamRegistry;
  readonly claims: StreamClaims;
  readonly hls: HlsOutputs;
  readonly profiles: TerminalAudioProfiles;
  readonly log: Logger;
}

/** Returns the HTTP routes of the service. */
export function createRoutes(config: Config, { registry, claims, hls, profiles, log }: RouteParts): Route[] {
  const access: StreamAccessDeps = {
    registry,
    isExpected: (id) => claims.isExpected(id),
    signingSecret: config.MEDIA_SIGNING_SECRET,
    allowUnsigned: config.MEDIA_ACCEPT_UNSOLICITED,
    corsOrigin: config.MEDIA_CORS_ORIGIN,
  };
  return [
    ...flvRoutes({ ...access, viewerLimits: (kind) => getViewerLimits(config, kind) }),
    ...mp4Routes(access),
    ...hlsRoutes({ ...access, hls }),
    talkRoute({ ...access, findVoiceCodec: async (imei) => (await profiles.find(imei))?.codec ?? null, log }),
    streamsRoute(registry),
  ];
}
