import { createHash } from 'node:crypto';
import type { Cameras } from '../cameras.ts';
import { recordingFile } from '../media/recording-file.ts';
import { recordingSizeBytes, type Stretch } from '../recordings.ts';
import type { ResolvedOptions } from '../terminal-options.ts';
import type { UploadFilePlan } from './upload-options.ts';

/** One file that a terminal uploads, with what is in it. */
export interface UploadFile {
  /** Path below the path of 0x9206. */
  readonly path: string;
  readonly content: Buffer;
  readonly sha256: string;
}

const digitsOf = (time: string | undefined): string => time?.replaceAll(/\D/g, '') ?? '';

const standardName = ({ channel, startTime, endTime }: UploadFilePlan): string =>
  `CH${channel}_${startTime}_${endTime}.mp4`;

function nameOf(stretches: readonly Stretch[], channel: number, index: number, options: ResolvedOptions): string {
  const startTime = digitsOf(stretches[0]?.recording.startTime);
  const endTime = digitsOf(stretches.at(-1)?.recording.endTime);
  const plan = { channel, startTime, endTime, index };
  return (options.uploadFileName ?? standardName)(plan);
}

/** Names of the files that a clip is uploaded as, before anything is made. */
export function uploadFileNames(
  channel: number,
  stretches: readonly Stretch[],
  options: ResolvedOptions,
): { path: string; stretches: readonly Stretch[] }[] {
  const groups = options.uploadFiles === 'perRecording' ? stretches.map((stretch) => [stretch]) : [stretches];
  const directory = options.uploadDirectory === undefined ? '' : `${options.uploadDirectory}/`;
  return groups.map((group, index) => ({
    path: `${directory}${nameOf(group, channel, index, options)}`,
    stretches: group,
  }));
}

async function contentOf(cameras: Cameras, channel: number, stretches: readonly Stretch[]): Promise<Buffer> {
  const isSub = stretches[0]?.recording.streamType === 2;
  const clip = await cameras.clip(channel, isSub ? 'sub' : 'main');
  const seconds = stretches.reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs) / 1000, 0);
  const has = (absent: number): boolean => stretches.some(({ recording }) => recording.mediaType !== absent);
  return recordingFile(clip, seconds, recordingSizeBytes(seconds, clip.spec.bitrateKbps), {
    hasVideo: has(1),
    hasAudio: has(2),
  });
}

/** The files of a clip: real, playable, and the same bytes whenever the same clip is asked for. */
export function uploadFiles(
  cameras: Cameras,
  channel: number,
  stretches: readonly Stretch[],
  options: ResolvedOptions,
): Promise<UploadFile[]> {
  const files = uploadFileNames(channel, stretches, options).map(async (file) => {
    const content = await contentOf(cameras, channel, file.stretches);
    return { path: file.path, content, sha256: createHash('sha256').update(content).digest('hex') };
  });
  return Promise.all(files);
}
