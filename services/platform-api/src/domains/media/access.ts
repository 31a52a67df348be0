import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';

/** Returns true if a user may see video of the own account. The permissions of a share decide for shared vehicles. */
export const mayViewVideo = ({ role, canViewVideo }: Pick<Caller, 'role' | 'canViewVideo'>): boolean =>
  isPermitted(role, 'video') && (role !== 'viewer' || canViewVideo);
