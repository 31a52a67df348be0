import type { VideoAccess } from '@fleet/bus';
import { AppError, type Route } from '@fleet/service-kit';

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

const openingOperations: ReadonlySet<string> = new Set([
  'startRealtimeStream',
  'startHistoryStream',
  'startStream',
  'requestUpload',
  'talk',
]);

/** Returns whether a route starts a camera or requests its clips. Commands that end a stream do not. */
export const isCameraOpened = ({ operationId }: Pick<Route, 'operationId'>): boolean =>
  openingOperations.has(operationId);

/** 0x9101 data types, JT/T 1078-2016 table 17. */
const audioAndVideo = 0;
const videoOnly = 1;

/** Returns the data type to request: no sound of a camera without a microphone. */
export const toAvailableDataType = (access: Cameras | null | undefined, channel: number, dataType: number): number =>
  dataType === audioAndVideo && access && !hasMicrophone(access, channel) ? videoOnly : dataType;
