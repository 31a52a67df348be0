import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';

/** Returns true if a user may see recorded pictures at all. The permission `history_video` decides for each vehicle. */
export const mayViewVideo = ({ role, canViewVideo }: Pick<Caller, 'role' | 'canViewVideo'>): boolean =>
  isPermitted(role, 'video') && (role !== 'viewer' || canViewVideo);
