import type { VideoAccess } from '@fleet/bus';
import type { SharePermission } from '../vehicle-shares/schema.ts';
import type { Vehicle } from '../vehicles/schema.ts';

/** Returns the rights on video that permissions on a vehicle include. */
export const toVideoRights = (permissions: readonly SharePermission[]): VideoAccess['rights'] => ({
  live: permissions.includes('live_video'),
  history: permissions.includes('history_video'),
  command: permissions.includes('commands'),
});

/** Rights of an API key on the devices of its account. */
export const allRights: VideoAccess['rights'] = { live: true, history: true, command: true };

/** Rights of a guest of a share link with the permission `live_video`. */
export const guestRights: VideoAccess['rights'] = { live: true, history: false, command: false };

/** Returns the part of the access that describes a vehicle. */
export const describeVehicle = ({
  _id,
  accountId,
  channels,
}: Vehicle): Pick<VideoAccess, 'vehicleId' | 'vehicleAccountId' | 'channels'> => ({
  vehicleId: _id,
  vehicleAccountId: accountId,
  channels: channels.map(({ channelId, enabled, hasAudio }) => ({ channelId, enabled, hasAudio })),
});

/** The same without a vehicle. */
export const noVehicle = { vehicleId: null, vehicleAccountId: null, channels: [] } as const;
