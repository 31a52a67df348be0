/** An index, declared here by the domain whose collection it is; `keys` in MongoDB's way. Made at the start, by one replica. */
export interface Index {
  readonly collection: string;
  readonly keys: Readonly<Record<string, 1 | -1 | '2dsphere'>>;
}

/** All indexes: lists are read by account, newest first. Uniqueness needs none: see `AccountRecords`. */
export const indexes: readonly Index[] = [
  { collection: 'users', keys: { accountId: 1, _id: -1 } },
  { collection: 'accounts', keys: { dealerAccountId: 1 } },
  { collection: 'sessions', keys: { accountId: 1, userId: 1 } },
  { collection: 'sessions', keys: { expiresAt: 1 } },
  { collection: 'api_keys', keys: { accountId: 1, _id: -1 } },
  { collection: 'audit_log', keys: { accountId: 1, _id: -1 } },
  { collection: 'audit_log', keys: { createdAt: 1 } },
  { collection: 'vehicles', keys: { accountId: 1, _id: -1 } },
  { collection: 'vehicles', keys: { accountId: 1, driverId: 1 } },
  { collection: 'vehicles', keys: { accountId: 1, groupIds: 1 } },
  { collection: 'drivers', keys: { accountId: 1, _id: -1 } },
  { collection: 'vehicle_groups', keys: { accountId: 1, _id: -1 } },
  { collection: 'vehicle_groups', keys: { accountId: 1, parentGroup: 1 } },
  { collection: 'shares', keys: { accountId: 1, secondaryUserId: 1 } },
  { collection: 'shares', keys: { secondaryUserId: 1, vehicleId: 1 } },
  { collection: 'shares', keys: { accountId: 1, vehicleId: 1 } },
  { collection: 'share_links', keys: { accountId: 1, vehicleId: 1 } },
  { collection: 'share_links', keys: { accountId: 1, userId: 1, _id: -1 } },
  { collection: 'notifications', keys: { accountId: 1, timestamp: -1 } },
  { collection: 'notifications', keys: { vehicleId: 1, timestamp: -1 } },
  { collection: 'notification_preferences', keys: { userId: 1 } },
  { collection: 'notification_preferences', keys: { vehicleId: 1 } },
  { collection: 'push_tokens', keys: { accountId: 1, userId: 1 } },
  { collection: 'webhooks', keys: { accountId: 1, userId: 1, _id: -1 } },
  { collection: 'geofences', keys: { accountId: 1, _id: -1 } },
  { collection: 'orders', keys: { accountId: 1, _id: -1 } },
  { collection: 'orders', keys: { gateway: 1, gatewayOrderId: 1 } },
  { collection: 'orders', keys: { status: 1, expiresAt: 1 } },
  { collection: 'subscriptions', keys: { accountId: 1, vehicleId: 1 } },
  { collection: 'payment_events', keys: { receivedAt: 1 } },
  { collection: 'commands', keys: { accountId: 1, vehicleId: 1, _id: -1 } },
  { collection: 'commands', keys: { imei: 1, status: 1, priority: -1, _id: 1 } },
  { collection: 'commands', keys: { status: 1, _id: 1 } },
  { collection: 'idempotency_keys', keys: { expiresAt: 1 } },
  { collection: 'mining_devices', keys: { accountId: 1, _id: -1 } },
  { collection: 'partner_positions', keys: { accountId: 1, imei: 1, timestamp: -1 } },
  { collection: 'partner_heartbeats', keys: { accountId: 1, imei: 1, timestamp: -1 } },
  { collection: 'support_tickets', keys: { accountId: 1, _id: -1 } },
  { collection: 'chat_messages', keys: { accountId: 1, _id: -1 } },
  { collection: 'partners', keys: { accountId: 1, _id: -1 } },
];
