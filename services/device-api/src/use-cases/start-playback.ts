import type { Outcome } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { toCameraSpan } from '../domain/camera-time.ts';
import { type MediaAddressOptions, resolveMediaAddress } from '../domain/media-address.ts';
import type { GeneralResponse } from '../domain/outcome.ts';
import { getTimestampSource, PlaybackMode } from '../domain/playback.ts';
import { isEmptyRecordingList } from '../domain/recordings.ts';
import { findDataLimit } from './find-data-limit.ts';
import { type StartDeps, startStream } from './start-stream.ts';

export interface StartPlaybackRequest extends MediaAddressOptions {
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
  deps: StartDeps & Pick<Deps, 'utcOffsets'>,
  request: StartPlaybackRequest,
  context: CommandContext,
): Promise<GeneralResponse> {
  const { config } = deps;
  const { imei, channel, playbackMode } = request;
  const address = resolveMediaAddress(request, {
    host: config.MEDIA_PUBLIC_HOST,
    port: config.MEDIA_HISTORY_PORT,
    allowlist: config.DEVICE_HOST_ALLOWLIST,
  });
  // Recordings of the sub stream may not exist, so only a refusal limits playback.
  await findDataLimit(deps, imei, context);
  const { startTime, endTime } = toCameraSpan(request.startMs, request.endMs, await deps.utcOffsets.get(imei, context));
  const { server, tcpPort, udpPort } = address;
  const hasSpeed = playbackMode === PlaybackMode.fastForward || playbackMode === PlaybackMode.keyFrameRewind;
  const mediaFilter = {
    mediaType: request.resourceType,
    streamType: request.streamType,
    storageType: request.memoryType,
  };
  const playbackSettings = { playbackMode, speed: hasSpeed ? request.speed : 0 };
  return startStream(
    deps,
    {
      id: { kind: 'history', imei, channel },
      address,
      requestedMedia: {
        dataType: mediaFilter.mediaType,
        streamType: mediaFilter.streamType,
        pace: getTimestampSource(playbackMode),
      },
      command: {
        kind: 'startPlayback',
        server,
        tcpPort,
        udpPort,
        channel,
        ...mediaFilter,
        ...playbackSettings,
        startTime,
        endTime,
      },
      responseId: '0x9201',
      mapOutcome: toPlaybackOutcome,
    },
    context,
  );
}

// The standard responds to 0x9201 with 0x1205, the list of recordings; most cameras respond with 0x0001. The first one
// counts: a list means success, unless it is empty.
function toPlaybackOutcome(outcome: Outcome): Outcome {
  if (outcome.kind !== 'answered' || outcome.answer.message?.id !== 0x1205) return outcome;
  const result = isEmptyRecordingList(outcome.answer.message) ? 1 : 0;
  // The list is unused, and may be long.
  return { kind: 'answered', answer: { ...outcome.answer, result, message: null } };
}
