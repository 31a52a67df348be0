// Fills the database of `lists.mjs`. The documents are copies of records that the API created, so that they have the
// schema of this release.
const dayMs = 86_400_000;
const bucketMs = 600_000;
const batchSize = 1_000;
/** Ids of the copies, far above the ids that the API assigns. */
const firstId = 1_000_000;

const severities = ['critical', 'warning', 'info'];
const types = ['sos', 'overspeed', 'geofence_enter', 'geofence_exit', 'ignition_on', 'ignition_off', 'device_offline'];
const actions = ['auth.login', 'vehicles.update', 'drivers.delete', 'commands.send', 'media.view'];

/** Inserts documents in batches; `create` returns the document for an index. */
async function insertAll(collection, count, create) {
  for (let from = 0; from < count; from += batchSize) {
    const length = Math.min(batchSize, count - from);
    await collection.insertMany(
      Array.from({ length }, (_none, at) => create(from + at)),
      { ordered: false },
    );
  }
}

/** Creates one record of each kind through the API; returns them by name. */
export async function createTemplates(request) {
  const post = (path, body) => request('POST', path, body);
  const vehicle = await post('/api/vehicles', { vehicle_no: 'TEMPLATE1', imei: '013700000001' });
  const vehicleIds = { vehicles: [vehicle.id] };
  const way = {
    path: [
      [22.5, 114],
      [22.51, 114.01],
    ],
  };
  await post('/api/drivers', { name: 'Template', vehicle_ids: [vehicle.id] });
  await post('/api/vehicle-groups', { name: 'Template', ...vehicleIds });
  const circle = { type: 'circle', coordinates: [[22.5, 114]], radius_m: 500 };
  await post('/api/geofences', { name: 'Template', ...circle, ...vehicleIds });
  await post('/api/routes', { name: 'Template', ...way, ...vehicleIds });
  await post('/api/support-tickets', { subject: 'Template', message: 'Template', vehicle_id: vehicle.id });
  await post('/api/share-links', { vehicle_id: vehicle.id, label: 'Template' });
  await post('/api/user-webhooks', { url: 'https://93.184.216.34/template', name: 'Template', enabled: false });
  await post('/api/api-keys', { name: 'Template' });
  await post('/api/mining-devices', { imei: '860000000000001', owner_name: 'Template' });
  await post('/api/partners', {
    name: 'Template',
    command_url: 'https://93.184.216.34/',
    command_token: 'template-token-0123456789',
  });
  await post(`/api/vehicles/${vehicle.id}/commands`, { type: 'text', params: { text: 'Template' } });
  return vehicle.id;
}

/** Reads the newest record of a collection as a template for copies. */
async function templateOf(db, collection) {
  const [found] = await db.collection(collection).find().sort({ _id: -1 }).limit(1).toArray();
  if (found === undefined) throw new Error(`${collection} has no record to copy`);
  return found;
}

/** Fills one account; the ids of its records start at `offset`. */
export async function fillAccount(db, { accountId, userId, offset, sizes, templates, webhookId, nowMs }) {
  const first = firstId + offset;
  const idsOf = (count) => Array.from({ length: count }, (_none, at) => first + at);
  const imeiOf = (at) => String(100_000_000_000 + offset + at).padStart(12, '0');
  const at = (from, share) => new Date(nowMs - Math.round(from * dayMs * share));
  const copy = (name, index, more) => ({ ...templates[name], _id: first + index, accountId, ...more });
  const groups = sizes.groups;
  const insert = (name, count, more) =>
    insertAll(db.collection(name), count, (index) => copy(name, index, more(index, index / count)));

  await insert('vehicles', sizes.vehicles, (index) => ({
    vehicleNo: `B${String(index).padStart(6, '0')}`,
    name: `Vehicle ${index}`,
    imei: imeiOf(index),
    recordedImei: imeiOf(index),
    ownerUserId: userId,
    driverId: index < sizes.drivers ? first + index : null,
    groupIds: [first + (index % groups)],
    createdAt: at(365, index / sizes.vehicles),
  }));
  await insertAll(db.collection('unique_values'), 2 * sizes.vehicles, (index) => {
    const vehicle = Math.floor(index / 2);
    const key =
      index % 2 === 0 ? `imei:${imeiOf(vehicle)}` : `vehicleNo:${accountId}:B${String(vehicle).padStart(6, '0')}`;
    return { _id: `vehicles.${key}`, recordId: first + vehicle, takenAt: new Date(nowMs) };
  });
  await insertAll(db.collection('devices'), sizes.vehicles, (index) => ({
    _id: imeiOf(index),
    edition: '2013',
    manufacturer: '70111',
    model: 'T1',
    terminalId: '1234567',
    seenMs: nowMs,
    isOffline: true,
    updatedAt: new Date(nowMs),
  }));
  await insert('drivers', sizes.drivers, (index) => ({
    name: `Driver ${index}`,
    phoneNumber: `+1415555${String(index).padStart(4, '0')}`,
    licenseNumber: `L${index}`,
    cardNumber: `C${index}`,
    status: index % 10 === 0 ? 'inactive' : 'active',
  }));
  await insert('vehicle_groups', groups, (index) => ({
    name: `Group ${index}`,
    parentGroup: index < 10 ? null : first + (index % 10),
    siblingKey: `${accountId}:group-${index}`,
    geofences: [],
    drivers: [],
  }));
  await insert('geofences', sizes.geofences, (index) => ({
    name: `Geofence ${index}`,
    vehicles: index % 2 === 0 ? [first + (index % sizes.vehicles)] : [],
    groups: index % 2 === 1 ? [first + (index % groups)] : [],
  }));
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
  await insert('audit_log', sizes.auditEntries, (index, share) => {
    const createdAt = at(300, share);
    const action = actions[index % actions.length];
    return { action, userId: userId + (index % 5), createdAt, updatedAt: createdAt };
  });
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
  await fillHistory(db, { accountId, ids: idsOf(sizes.historyVehicles), imeiOf, nowMs, days: sizes.historyDays });
}

/**
 * One report every 30 seconds for ten hours of each day, alternating half an hour of driving and half an hour of rest.
 */
async function fillHistory(db, { accountId, ids, imeiOf, nowMs, days }) {
  const today = Math.floor(nowMs / dayMs) * dayMs;
  const startsMs = Array.from({ length: 60 }, (_none, at) => 6 * 3_600_000 + at * bucketMs);
  const pointsOf = (bucket) => {
    const isMoving = Math.floor(bucket / 3) % 2 === 0;
    const entries = Array.from({ length: 20 }, (_none, at) => {
      const step = isMoving ? bucket * 20 + at : Math.floor(bucket / 3) * 60;
      return [`${at * 30_000}-h${at}`, `${22_500_000 + step * 2_000},114000000,${isMoving ? 40 : 0},90,5,500,10,9`];
    });
    return Object.fromEntries(entries);
  };
  const points = startsMs.map((_none, bucket) => pointsOf(bucket));
  for (const [index, vehicleId] of ids.entries()) {
    const imei = imeiOf(index);
    const dates = Array.from({ length: days }, (_none, at) => today - (at + 1) * dayMs);
    await insertAll(db.collection('position_buckets'), dates.length * startsMs.length, (at) => {
      const bucket = at % startsMs.length;
      const startMs = dates[Math.floor(at / startsMs.length)] + startsMs[bucket];
      const _id = `${imei}:${vehicleId}:${new Date(startMs).toISOString().slice(0, 16)}`;
      return { _id, vehicleId, accountId, imei, points: points[bucket] };
    });
    const kinds = dates.map((ms) => [`${new Date(ms).toISOString().slice(0, 10)}:${imei}`, 'full']);
    await db
      .collection('position_days')
      .insertOne({ _id: String(vehicleId), vehicleId, accountId, days: Object.fromEntries(kinds) });
  }
}

const copied = [
  'vehicles',
  'drivers',
  'vehicle_groups',
  'geofences',
  'audit_log',
  'routes',
  'support_tickets',
  'mining_devices',
  'share_links',
  'api_keys',
  'partners',
  'commands',
];

/** Reads the records that `createTemplates` created. */
export async function readTemplates(db) {
  const found = await Promise.all(copied.map(async (name) => [name, await templateOf(db, name)]));
  return { ...Object.fromEntries(found), notifications: {} };
}

/** Returns the id of a copy by its index, in the account whose ids start at `offset`. */
export const copyId = (offset, index) => firstId + offset + index;

/** Makes the API assign ids above those of the copies. */
export async function raiseCounters(db) {
  const names = [...copied, 'notifications', 'chat_messages', 'media', 'webhook_deliveries', 'users', 'shares'];
  for (const name of names)
    await db.collection('counters').updateOne({ _id: name }, { $max: { value: 2 * firstId } }, { upsert: true });
}
