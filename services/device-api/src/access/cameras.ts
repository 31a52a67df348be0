import type { VideoAccess } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';

type Cameras = Pick<VideoAccess, 'channels'>;

const findCamera = ({ channels }: Cameras, channel: number) => channels.find(({ channelId }) => channelId === channel);

/** Returns whether a camera is in use; a channel that the vehicle does not list is. */
export const isCameraEnabled = (access: Cameras, channel: number): boolean =>
  findCamera(access, channel)?.enabled !== false;

/** Returns whether a camera has a microphone; one that the vehicle does not list has. */
export const hasMicrophone = (access: Cameras, channel: number): boolean =>
  findCamera(access, channel)?.hasAudio !== false;

/** Throws 404 for a disabled camera. */
export function assertCameraEnabled(access: Cameras, channel: number): void {
  if (!isCameraEnabled(access, channel)) throw new AppError('not_found', `Camera ${channel} is disabled.`);
}
