import type { Outcome } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { cameraSpan } from '../domain/camera-time.ts';
import { type MediaAddressWish, mediaAddress } from '../domain/media-address.ts';
import type { GeneralAnswer } from '../domain/outcome.ts';
import { PlaybackMode, paceOfMode } from '../domain/playback.ts';
import { isEmptyList } from '../domain/recordings.ts';
import { type StartDeps, startStream } from './start-stream.ts';

export interface StartPlayback extends MediaAddressWish {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly resourceType: number;
  /** 1 main, 2 sub stream. */
  readonly streamType: number;
  readonly memoryType: number;
  readonly playbackMode: number;
  /** 0 none, 1 to 5 for 1 to 16 times; used by fast forward and rewind. */
  readonly speed: number;
}

/** Starts playback of a recording (0x9201), independent of live video. A channel that is playing continues. */
export async function startPlayback(
  deps: StartDeps & Pick<Deps, 'clocks'>,
  wanted: StartPlayback,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const { config } = deps;
  const { imei, channel, playbackMode } = wanted;
  const address = mediaAddress(wanted, {
    host: config.MEDIA_PUBLIC_HOST,
    port: config.MEDIA_HISTORY_PORT,
    allowlist: config.DEVICE_HOST_ALLOWLIST,
  });
  const { startTime, endTime } = cameraSpan(wanted.startMs, wanted.endMs, await deps.clocks.offsetOf(imei, context));
  const { server, tcpPort, udpPort } = address;
  const hasSpeed = playbackMode === PlaybackMode.fastForward || playbackMode === PlaybackMode.keyFrameRewind;
  const what = { mediaType: wanted.resourceType, streamType: wanted.streamType, storageType: wanted.memoryType };
  const how = { playbackMode, speed: hasSpeed ? wanted.speed : 0 };
  return startStream(
    deps,
    {
      id: { kind: 'history', imei, channel },
      address,
      wanted: { dataType: what.mediaType, streamType: what.streamType, pace: paceOfMode(playbackMode) },
      command: { kind: 'startPlayback', server, tcpPort, udpPort, channel, ...what, ...how, startTime, endTime },
      responseId: '0x9201',
      read: playbackOutcome,
    },
    context,
  );
}

/**
 * The standard responds to 0x9201 with 0x1205, the list of recordings; most cameras respond with 0x0001. The first one
 * counts: a list means success, unless it is empty.
 */
function playbackOutcome(outcome: Outcome): Outcome {
  if (outcome.kind !== 'answered' || outcome.answer.message?.id !== 0x1205) return outcome;
  const result = isEmptyList(outcome.answer.message) ? 1 : 0;
  // The list is unused, and may be long.
  return { kind: 'answered', answer: { ...outcome.answer, result, message: null } };
}
