import type { Role } from './queries.ts';

/** Roles that each role gives to others. The server decides again. */
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
