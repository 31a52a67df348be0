import { createHash } from 'node:crypto';
import type { Cameras } from '../cameras.ts';
import { createRecordingFile } from '../media/recording-file.ts';
import { estimateRecordingBytes, type RecordingSegment } from '../recordings.ts';
import type { ResolvedOptions } from '../terminal-options.ts';
import type { UploadFilePlan } from './upload-options.ts';

/** One uploaded file with its content. */
export interface UploadFile {
  /** Path below the path of 0x9206. */
  readonly path: string;
  readonly content: Buffer;
  readonly sha256: string;
}

const toDigits = (time: string | undefined): string => time?.replaceAll(/\D/g, '') ?? '';

const buildStandardName = ({ channel, startTime, endTime }: UploadFilePlan): string =>
  `CH${channel}_${startTime}_${endTime}.mp4`;

function buildFileName(
  segments: readonly RecordingSegment[],
  channel: number,
  index: number,
  options: ResolvedOptions,
): string {
  const startTime = toDigits(segments[0]?.recording.startTime);
  const endTime = toDigits(segments.at(-1)?.recording.endTime);
  const plan = { channel, startTime, endTime, index };
  return (options.uploadFileName ?? buildStandardName)(plan);
}

/** Returns the file names of an uploaded clip without creating the files. */
export function buildUploadFileNames(
  channel: number,
  segments: readonly RecordingSegment[],
  options: ResolvedOptions,
): { path: string; stretches: readonly RecordingSegment[] }[] {
  const groups = options.uploadFiles === 'perRecording' ? segments.map((segment) => [segment]) : [segments];
  const directory = options.uploadDirectory === undefined ? '' : `${options.uploadDirectory}/`;
  return groups.map((group, index) => ({
    path: `${directory}${buildFileName(group, channel, index, options)}`,
    stretches: group,
  }));
}

async function createContent(
  cameras: Cameras,
  channel: number,
  segments: readonly RecordingSegment[],
): Promise<Buffer> {
  const isSub = segments[0]?.recording.streamType === 2;
  const clip = await cameras.clip(channel, isSub ? 'sub' : 'main');
  const seconds = segments.reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs) / 1000, 0);
  const hasMediaOtherThan = (mediaType: number): boolean =>
    segments.some(({ recording }) => recording.mediaType !== mediaType);
  return createRecordingFile(clip, seconds, estimateRecordingBytes(seconds, clip.spec.bitrateKbps), {
    hasVideo: hasMediaOtherThan(1),
    hasAudio: hasMediaOtherThan(2),
  });
}

/** Creates the files of a clip: playable, and always the same bytes for the same clip. */
export function createUploadFiles(
  cameras: Cameras,
  channel: number,
  segments: readonly RecordingSegment[],
  options: ResolvedOptions,
): Promise<UploadFile[]> {
  const files = buildUploadFileNames(channel, segments, options).map(async (file) => {
    const content = await createContent(cameras, channel, file.stretches);
    return { path: file.path, content, sha256: createHash('sha256').update(content).digest('hex') };
  });
  return Promise.all(files);
}
