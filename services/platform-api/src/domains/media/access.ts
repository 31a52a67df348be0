import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';

/** Whether a user may see recorded pictures at all; which, is a matter of the vehicle (`history_video`). */
export const mayViewVideo = ({ role, canViewVideo }: Pick<Caller, 'role' | 'canViewVideo'>): boolean =>
  isPermitted(role, 'video') && (role !== 'viewer' || canViewVideo);
