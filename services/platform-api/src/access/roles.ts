/** What a user may be (docs/reference/access.md), from most to least. */
export const roles = ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'] as const;

/** A user's role. */
export type Role = (typeof roles)[number];

/** What a route asks of the caller's role. */
export const permissions = {
  /** Own preferences, push tokens and sessions. */
  self: ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'],
  /** Records that are only read; a driver sees the own vehicle alone, which the queries see to. */
  read: ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'],
  /** Vehicles, drivers, groups, geofences, routes. */
  fleet: ['superadmin', 'owner', 'admin', 'manager'],
  sharing: ['superadmin', 'owner', 'admin', 'manager'],
  webhooks: ['superadmin', 'owner', 'admin', 'manager'],
  /** Device commands but the critical ones. */
  commands: ['superadmin', 'owner', 'admin', 'manager'],
  /** Firmware upgrade, server change, factory reset. */
  criticalCommands: ['superadmin', 'owner', 'admin'],
  /** Live and recorded video; a viewer needs `can_view_video` besides. */
  video: ['superadmin', 'owner', 'admin', 'manager', 'viewer'],
  /** Users, API keys, configuration, audit log, clearing of data. */
  administration: ['superadmin', 'owner', 'admin'],
  billing: ['superadmin', 'owner'],
  /** What partners may send to terminals. */
  partnerCommandLevels: ['superadmin', 'owner'],
  /** The own account, by its owner; any, by the operator's staff. */
  accountDeletion: ['superadmin', 'owner'],
  /** Accounts of customers. */
  accounts: ['superadmin', 'dealer'],
} as const satisfies Readonly<Record<string, readonly Role[]>>;

/** A name of `permissions`. */
export type Permission = keyof typeof permissions;

/** True when users of a role may do what a permission stands for. */
export const isPermitted = (role: Role, permission: Permission): boolean =>
  (permissions[permission] as readonly Role[]).includes(role);
