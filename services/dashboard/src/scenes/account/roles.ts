import type { components } from '@fleet/api-client';

export type Role = components['schemas']['User']['role'];

/** Roles that users of each role assign. A test compares them with the API, which decides again. */
const givenBy: Readonly<Record<Role, readonly Role[]>> = {
  superadmin: ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'],
  dealer: [],
  owner: ['owner', 'admin', 'manager', 'viewer', 'driver'],
  admin: ['admin', 'manager', 'viewer', 'driver'],
  manager: [],
  viewer: [],
  driver: [],
};

export const rolesGivenBy = (role: Role): readonly Role[] => givenBy[role];
