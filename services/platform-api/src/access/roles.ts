/** Roles of users (docs/reference/access.md), from most to least privileged. */
export const roles = ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'] as const;

/** A user's role. */
export type Role = (typeof roles)[number];

/** Permissions of routes, with the roles that have them. */
export const permissions = {
  /** Own preferences, push tokens and sessions. */
  self: ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'],
  /** Read access to records. The queries limit a driver to the driver's own vehicle. */
  read: ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'],
  /** Vehicles, drivers, groups, geofences, routes. */
  fleet: ['superadmin', 'owner', 'admin', 'manager'],
  sharing: ['superadmin', 'owner', 'admin', 'manager'],
  webhooks: ['superadmin', 'owner', 'admin', 'manager'],
  /** Device commands except the critical ones. */
  commands: ['superadmin', 'owner', 'admin', 'manager'],
  /** Firmware upgrade, server change, factory reset. */
  criticalCommands: ['superadmin', 'owner', 'admin'],
  /** Live and recorded video. A viewer also needs `can_view_video`. */
  video: ['superadmin', 'owner', 'admin', 'manager', 'viewer'],
  /** Users, API keys, configuration, audit log, clearing of data. */
  administration: ['superadmin', 'owner', 'admin'],
  billing: ['superadmin', 'owner'],
  /** Commands that partners may send to terminals. */
  partnerCommandLevels: ['superadmin', 'owner'],
  /** The own account for its owner; any account for the operator's staff. */
  accountDeletion: ['superadmin', 'owner'],
  /** Accounts of customers. */
  accounts: ['superadmin', 'dealer'],
} as const satisfies Readonly<Record<string, readonly Role[]>>;

/** Name of a permission. */
export type Permission = keyof typeof permissions;

/** Returns true if a role has a permission. */
export const isPermitted = (role: Role, permission: Permission): boolean =>
  (permissions[permission] as readonly Role[]).includes(role);
