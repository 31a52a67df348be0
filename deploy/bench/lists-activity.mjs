// What happened to the vehicles of `lists.mjs`: notifications, deliveries, media, messages and orders.
import { insertAll } from './lists-account.mjs';

const severities = ['critical', 'warning', 'info'];
const types = ['sos', 'overspeed', 'geofence_enter', 'geofence_exit', 'ignition_on', 'ignition_off', 'device_offline'];
const actions = ['auth.login', 'vehicles.update', 'drivers.delete', 'commands.send', 'media.view'];

/** Inserts notifications. */
export async function fillNotifications({ accountId, userId, first, imeiOf, at, insert, sizes }) {
  await insert('notifications', sizes.notifications, (index, share) => {
    const createdAt = at(30, share);
    // Every tenth document belongs to the same few vehicles.
    const vehicle = index % 10 === 0 ? index % 50 : index % sizes.vehicles;
    return {
      dedupeKey: `${accountId}:${index}`,
      type: types[index % types.length],
      severity: severities[index % severities.length],
      title: 'Title',
      description: 'The description of a notification in one sentence of usual length.',
      category: 'safety',
      vehicleId: first + vehicle,
      vehicleNo: `B${String(vehicle).padStart(6, '0')}`,
      imei: imeiOf(vehicle),
      driverId: null,
      latitude: 22.5,
      longitude: 114,
      address: null,
      attributes: '{}',
      media: [],
      backfilled: false,
      timestamp: createdAt.getTime(),
      serverTimestamp: createdAt.getTime() + 500,
      acknowledgedAt: index % 3 === 0 ? createdAt : null,
      acknowledgedBy: index % 3 === 0 ? userId : null,
      createdAt,
      updatedAt: createdAt,
      version: 1,
    };
  });
}

/** Inserts audit entries. */
export async function fillAuditLog({ userId, at, insert, sizes }) {
  await insert('audit_log', sizes.auditEntries, (index, share) => {
    const createdAt = at(300, share);
    const action = actions[index % actions.length];
    return { action, userId: userId + (index % 5), createdAt, updatedAt: createdAt };
  });
}

/** Inserts copies of the remaining templates. */
export async function fillOtherRecords({ accountId, userId, offset, first, imeiOf, at, insert, sizes }) {
  for (const name of ['routes', 'support_tickets', 'mining_devices'])
    await insert(name, sizes.others, (index) => {
      const imei = String(870_000_000_000_000 + offset + index);
      const names = name === 'routes' ? { name: `Route ${index}`, vehicleIds: [first] } : {};
      return name === 'mining_devices' ? { imei, recordedImei: imei } : names;
    });
  await insert('share_links', sizes.others, (index) => ({ slug: `slug-${accountId}-${index}`, userId }));
  await insert('api_keys', Math.min(100, sizes.others), (index) => ({ name: `Key ${index}` }));
  await insert('partners', Math.min(50, sizes.others), (index) => ({ name: `Partner ${index}` }));
  await insert('commands', sizes.others, (index) => ({
    commandId: `${accountId}-${index}`,
    vehicleId: first,
    imei: imeiOf(0),
    status: 'acknowledged',
    createdAt: at(60, index / sizes.others),
  }));
}

/** Inserts paid orders. */
export async function fillOrders({ db, accountId, userId, first, at, sizes, nowMs }) {
  await insertAll(db.collection('orders'), sizes.others, (index) => ({
    _id: first + index,
    accountId,
    createdBy: userId,
    gateway: 'stripe',
    gatewayOrderId: `order-${accountId}-${index}`,
    plan: 'basic',
    vehicleIds: [first],
    months: 1,
    coupon: null,
    amount: 900,
    currency: 'USD',
    lineItems: [],
    status: 'paid',
    publicKey: null,
    checkoutUrl: null,
    paymentId: null,
    paidAt: new Date(nowMs),
    isApplied: true,
    expiresAt: new Date(nowMs),
    createdAt: at(60, index / sizes.others),
    updatedAt: at(60, index / sizes.others),
    version: 1,
  }));
}

/** Inserts received messages. */
export async function fillChatMessages({ db, accountId, first, at, sizes }) {
  await insertAll(db.collection('chat_messages'), sizes.others, (index) => ({
    _id: first + index,
    accountId,
    messageKey: `sms:generic:${accountId}-${index}`,
    channel: index % 5 === 0 ? 'voice' : 'sms',
    provider: 'generic',
    providerMessageId: `${index}`,
    direction: 'in',
    from: '+14155550100',
    to: '+14155550199',
    text: 'Text',
    status: 'received',
    userId: null,
    vehicleId: first + (index % sizes.vehicles),
    receivedAt: at(60, index / sizes.others),
    createdAt: at(60, index / sizes.others),
    updatedAt: at(60, index / sizes.others),
    version: 1,
  }));
}

/** Inserts pictures and videos of one vehicle. */
export async function fillMedia({ db, accountId, first, imeiOf, at, sizes }) {
  await insertAll(db.collection('media'), sizes.media, (index) => ({
    _id: first + index,
    accountId,
    mediaKey: `file:${imeiOf(0)}:${index}`,
    captureId: null,
    vehicleId: first,
    imei: imeiOf(0),
    channelId: 1 + (index % 4),
    kind: index % 4 === 0 ? 'video' : 'image',
    source: 'capture',
    mimeType: 'image/jpeg',
    sizeBytes: 100_000,
    takenAt: at(30, index / sizes.media),
    receivedAt: at(30, index / sizes.media),
    latitude: null,
    longitude: null,
    notificationId: null,
    protected: false,
    toldAtMs: null,
    file: { imei: imeiOf(0), fileId: String(index).padStart(24, '0'), server: 'upload-ftp' },
    clip: null,
    createdAt: at(30, index / sizes.media),
    updatedAt: at(30, index / sizes.media),
    version: 1,
  }));
}

/** Inserts ended deliveries of one webhook. */
export async function fillDeliveries({ db, accountId, userId, first, imeiOf, at, sizes, webhookId }) {
  await insertAll(db.collection('webhook_deliveries'), sizes.deliveries, (index) => {
    const createdAtMs = at(7, index / sizes.deliveries).getTime();
    const vehicle = index % sizes.vehicles;
    return {
      _id: String(first + index).padStart(24, '0'),
      number: first + index,
      webhookId,
      accountId,
      userId,
      notificationId: first + index,
      notificationType: types[index % types.length],
      imei: imeiOf(vehicle),
      imeiKey: imeiOf(vehicle),
      vehicleId: first + vehicle,
      status: index % 20 === 0 ? 'failed' : 'succeeded',
      trigger: 'schedule',
      attemptCount: 1,
      roundAttempts: 1,
      body: JSON.stringify({ notification: { id: index, text: 'x'.repeat(400) } }),
      attempts: [{ number: 1, trigger: 'schedule', status: 200, durationMs: index % 100, atMs: createdAtMs }],
      request: null,
      createdAtMs,
      updatedAtMs: createdAtMs,
      version: 1,
      nextAttemptAtMs: null,
      completedAtMs: createdAtMs,
    };
  });
}
