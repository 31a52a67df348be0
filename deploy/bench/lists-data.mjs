// Fills the database of `lists.mjs`. The documents are copies of records that the API created, so that they have the
// schema of this release.
import { createAccountWriter, firstId } from './lists-account.mjs';
import {
  fillAuditLog,
  fillChatMessages,
  fillDeliveries,
  fillMedia,
  fillNotifications,
  fillOrders,
  fillOtherRecords,
} from './lists-activity.mjs';
import { fillFleet, fillVehicles } from './lists-fleet.mjs';
import { fillHistory } from './lists-history.mjs';

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

const fillSteps = [
  fillVehicles,
  fillFleet,
  fillNotifications,
  fillAuditLog,
  fillOtherRecords,
  fillOrders,
  fillChatMessages,
  fillMedia,
  fillDeliveries,
  fillHistory,
];

/** Fills one account; the ids of its records start at `offset`. */
export async function fillAccount(db, account) {
  const writer = createAccountWriter(db, account);
  for (const fill of fillSteps) await fill(writer);
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
