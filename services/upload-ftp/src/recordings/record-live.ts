import { setTimeout as delay } from 'node:timers/promises';
import type { LiveRecording } from '@fleet/bus';
import { AppError, type Logger, signMediaPath } from '@fleet/service-kit';
import { type Redis, readStream } from '@fleet/storage';
import { Ffmpeg, FfmpegError } from '../clips/ffmpeg.ts';
import type { IncomingFile } from '../media/incoming-file.ts';
import { type MediaFiles, NoSpaceError } from '../media/media-files.ts';

export interface LiveRecordingDeps {
  readonly redis: Redis;
  readonly media: Pick<MediaFiles, 'isStored' | 'open' | 'store'>;
  readonly ffmpegPath: string;
  readonly signingSecret: string;
  readonly log: Logger;
}

/** A camera that has accepted connects within this time. */
const firstPacketTimeoutMs = 10_000;
const pollIntervalMs = 50;
const urlLifetimeMs = 60_000;
/** Time for the first key frame, and for the program. */
const overheadMs = 15_000;

/** A clip that has less than this part of its length was interrupted; cameras may skip the rest. */
const minClipFraction = 0.75;
const clipToleranceMs = 500;

/**
 * Records one frame of live video as JPEG, or a clip as MP4 without encoding it again. Stores it like a file that the
 * terminal has sent. Does nothing if the capture has its file. Throws `not_streaming` if the stream ends too early.
 */
export async function recordLive(deps: LiveRecordingDeps, request: LiveRecording, signal: AbortSignal): Promise<void> {
  const { imei, channel, kind, captureId, durationSeconds } = request;
  // A pod that died after it had stored the file.
  if (await deps.media.isStored(imei, captureId)) return;
  const url = await findStreamUrl(deps, request, signal);
  const file = await openFile(deps, imei);
  try {
    await runFfmpeg(deps, request, url, file.path, signal);
    await file.measure();
    if (file.sizeBytes === 0) throw new AppError('upstream_error', 'The camera sent no picture. Retry.');
  } catch (error) {
    await file.discard();
    throw error;
  }
  const receivedAtMs = Date.now();
  await deps.media.store(file, {
    imei,
    channel,
    captureId,
    kind,
    mimeType: kind === 'image' ? 'image/jpeg' : 'video/mp4',
    source: 'capture',
    multimediaId: null,
    takenAt: null,
    receivedAtMs,
    // A clip is recorded in real time.
    ...(kind === 'video' ? { startedAtMs: receivedAtMs - durationSeconds * 1_000 } : {}),
    place: null,
    attachment: null,
    fileIdSeed: captureId,
    isSeedUnique: true,
  });
}

/** Returns the signed URL of the pod that receives the stream; waits for the first packet of the camera. */
async function findStreamUrl(
  { redis, signingSecret }: LiveRecordingDeps,
  { imei, channel, hasAudio, kind }: LiveRecording,
  signal: AbortSignal,
): Promise<string> {
  const id = { kind: 'live', imei, channel } as const;
  const deadlineMs = performance.now() + firstPacketTimeoutMs;
  for (;;) {
    const { claim, request } = await readStream(redis, id);
    if (claim !== null) {
      const query = { audio: kind === 'video' && hasAudio ? 'aac' : 'none' };
      const path = { ...id, baseUrl: claim.url, lifetimeMs: urlLifetimeMs, suffix: '.mp4', query } as const;
      return signMediaPath(signingSecret, path);
    }
    if (request === null) throw createEndError();
    if (performance.now() >= deadlineMs)
      throw new AppError('upstream_error', 'The camera accepted the stream but did not connect. Retry.');
    await delay(pollIntervalMs, undefined, { signal });
  }
}

async function openFile({ media }: LiveRecordingDeps, imei: string): Promise<IncomingFile> {
  try {
    return await media.open(imei);
  } catch (cause) {
    if (!(cause instanceof NoSpaceError)) throw cause;
    throw new AppError('unavailable', 'There is no disk space for recordings at the moment. Retry later.', { cause });
  }
}

async function runFfmpeg(
  { ffmpegPath, log }: LiveRecordingDeps,
  request: LiveRecording,
  url: string,
  output: string,
  signal: AbortSignal,
): Promise<void> {
  const durationMs = request.kind === 'video' ? request.durationSeconds * 1000 : 0;
  const ffmpeg = new Ffmpeg({ path: ffmpegPath, timeoutMs: durationMs + overheadMs });
  const inputs = [{ source: url, options: ['-protocol_whitelist http,https,tls,tcp', '-format_whitelist mov'] }];
  let recordedMs = 0;
  const onTime = (timeMs: number): void => {
    recordedMs = timeMs;
  };
  try {
    await ffmpeg.run({ inputs, outputOptions: getOutputOptions(request), output, onTime }, signal);
  } catch (cause) {
    if (!(cause instanceof FfmpegError)) throw cause;
    if (cause.isDiskFull)
      throw new AppError('unavailable', 'There is no disk space for recordings at the moment. Retry later.', { cause });
    // The lines contain the signed URL.
    log.info(
      { imei: request.imei, channel: request.channel, isTimeout: cause.isTimeout },
      'could not record live video',
    );
    if (!cause.isTimeout && cause.hasRun) throw createEndError(cause);
    throw new AppError('upstream_error', 'The live video could not be recorded.', { cause });
  }
  // A stream that ends is the end of its input for ffmpeg.
  if (recordedMs < durationMs * minClipFraction - clipToleranceMs) throw createEndError();
}

const createEndError = (cause?: unknown): AppError =>
  new AppError('not_streaming', 'The live video ended before it was recorded.', { cause });

function getOutputOptions({ kind, box, durationSeconds }: LiveRecording): string[] {
  if (kind === 'image') {
    const scaling =
      box === null
        ? []
        : [`-vf scale=w='min(iw,${box.width})':h='min(ih,${box.height})':force_original_aspect_ratio=decrease`];
    return ['-y', '-map 0:v:0', '-frames:v 1', ...scaling, '-q:v 3', '-f mjpeg'];
  }
  // The codec tag of the input remains: hvc1 for H.265.
  const content = ['-map 0:v:0', '-map 0:a:0?', '-c copy', `-t ${durationSeconds}`];
  return ['-y', ...content, '-map_metadata -1', '-movflags +faststart', '-f mp4'];
}
