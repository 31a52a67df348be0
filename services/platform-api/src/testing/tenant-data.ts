import { randomBytes } from 'node:crypto';
import { WebhookRepository } from '@fleet/storage';
import { captureCollection } from '../domains/captures/store.ts';
import { incrementUsage, insertMedia } from '../domains/media/store.ts';
import { createMediaUrl } from '../domains/media/urls.ts';
import { chatMessageCollection } from '../domains/messaging/store.ts';
import type { Notification } from '../domains/notifications/schema.ts';
import { notificationCollection } from '../domains/notifications/store.ts';
import { appendPositions } from '../domains/positions/bucket-writer.ts';
import { mediaPodId } from './fake-media-pod.ts';
import { writeLastLocation } from './last-location.ts';
import { newCapture, newMedia } from './media-records.ts';
import { pdf } from './pdf.ts';
import {
  type ApiResponse,
  type Client,
  type PlatformHarness,
  type Tenant,
  type TestUser,
  testPassword,
} from './platform-harness.ts';
import { testPosition } from './positions.ts';
import { queuedMp4, storeUpload } from './uploads.ts';

/** Data of a tenant of the isolation test: one record of every kind, and its users. */
export interface TenantData {
  readonly tenant: Tenant;
  /** Part of every name in the tenant's records. */
  readonly mark: string;
  readonly dealer: TestUser;
  /** Ids by kind (`vehicle`), and other values that identify a record (`imei`, `slug`). */
  readonly names: Readonly<Record<string, number | string>>;
  /** An API key that can mint tokens. */
  readonly mintingKey: string;
  readonly refreshToken: string;
}

function made(response: ApiResponse): Record<string, unknown> & { id: number } {
  if (response.status >= 300) throw new Error(JSON.stringify(response.body));
  return response.data;
}

/** Returns a unique number. */
export const digits = (length: number): string =>
  Array.from(randomBytes(length), (byte) => String(byte % 10))
    .join('')
    .replace(/^0/, '1');

/** Returns the latitude of an account's vehicle, which is unique and within the account's geofence. */
const latitudeOf = (accountId: number): number => 22.5 + accountId / 100_000;

/** Body of a route except its name. */
export const wayOf = {
  path: [
    [22.5, 114],
    [22.51, 114.01],
  ],
};

/** What the functions that create a tenant's records share. */
interface Creation {
  readonly harness: PlatformHarness;
  readonly tenant: Tenant;
  readonly client: Client;
  readonly mark: string;
  readonly imei: string;
  readonly vehicleId: number;
}

/** Creates the same records for any tenant, over HTTP wherever possible. */
export async function makeTenantData(harness: PlatformHarness, tenant: Tenant, mark: string): Promise<TenantData> {
  const client = harness.as(tenant.owner);
  const dealer = await harness.user('dealer', tenant, { name: `${mark} dealer` });
  const phone = `+1415555${1000 + tenant.accountId}`;
  const user = await harness.user('manager', tenant, { name: `${mark} manager`, phoneNumber: phone });
  const imei = digits(12);
  const vehicle = made(await client.post('/api/vehicles', { vehicle_no: `${mark}1`, imei }));
  const creation: Creation = { harness, tenant, client, mark, imei, vehicleId: vehicle.id };
  const given = { mark, imei, vehicleId: vehicle.id };
  await reportsOf(harness, tenant, given);
  const links = await linksOf(client, { mark, userId: user.id, vehicleId: vehicle.id });
  const scopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'];
  const minting = made(await client.post('/api/api-keys', { name: mark, scopes, can_mint_tokens: true }));
  return {
    tenant,
    mark,
    dealer,
    mintingKey: String(minting['key']),
    refreshToken: user.refreshToken,
    names: {
      ...links,
      mark,
      latitude: latitudeOf(tenant.accountId),
      imei,
      phone,
      user: user.id,
      vehicle: vehicle.id,
      vehicleNo: `${mark}1`,
      ...(await accessOf(creation, dealer)),
      ...(await fleetOf(creation)),
      ...(await requestsOf(creation)),
      ...(await mediaOf(harness, tenant, { imei, vehicleId: vehicle.id })),
      notification: await notificationOf(harness, tenant, given),
      delivery: await deliveryOf(harness, tenant, { ...given, webhookId: links['webhook'] }),
      upload: (
        await storeUpload(harness, { ...tenant, _id: vehicle.id, imei }, { status: 'completed', mp4: queuedMp4 })
      )._id,
    },
  };
}

/** Creates a customer account, a session and an API key. */
async function accessOf({ harness, tenant, client, mark }: Creation, dealer: TestUser) {
  await harness.anonymous.post('/api/auth/login', { identifier: tenant.owner.email, password: testPassword });
  const sessions = await client.get('/api/auth/sessions');
  const customer = await harness.as(dealer).post('/api/accounts', {
    name: `${mark} customer`,
    owner: { name: mark, email: `${mark.toLowerCase()}-${digits(6)}@fleet.example` },
  });
  return {
    account: made(customer).id,
    session: sessions.items.find(({ id }) => id !== tenant.owner.sessionId)?.id ?? 0,
    apiKey: made(await client.post('/api/api-keys', { name: mark })).id,
  };
}

/** Creates the records of a fleet. */
async function fleetOf({ client, mark, vehicleId }: Creation) {
  const post = async (path: string, body: object): Promise<number> => made(await client.post(path, body)).id;
  const vehicles = [vehicleId];
  const circle = { type: 'circle', coordinates: [[22.5, 114]], radius_m: 100 };
  const miningImei = digits(15);
  return {
    driver: await post('/api/drivers', { name: `${mark} driver`, vehicle_ids: vehicles }),
    group: await post('/api/vehicle-groups', { name: `${mark} group`, vehicles }),
    geofence: await post('/api/geofences', { name: `${mark} yard`, ...circle, vehicles }),
    route: await post('/api/routes', { name: `${mark} route`, ...wayOf }),
    miningImei,
    miningDevice: await post('/api/mining-devices', { imei: miningImei, owner_name: mark }),
    partner: await post('/api/partners', {
      name: `${mark} partner`,
      command_url: `https://93.184.216.34/${mark}`,
      command_token: `${mark} token of their server`,
    }),
  };
}

/** Creates a ticket, an order, a document and a command. */
async function requestsOf({ client, mark, vehicleId }: Creation) {
  const ticket = await client.post('/api/support-tickets', { subject: mark, message: mark, vehicle_id: vehicleId });
  const order = { plan: 'basic', vehicle_ids: [vehicleId], months: 1 };
  const licence = pdf(['DRIVING LICENCE', 'Licence No: KA0120110012345', `Name: ${mark}`]);
  const document = await client.post('/api/devices/extract-document', {
    content_base64: licence.toString('base64'),
    mime_type: 'application/pdf',
    store: true,
  });
  const text = { type: 'text', params: { text: mark } };
  const command = await client.post(`/api/vehicles/${vehicleId}/commands`, text);
  return {
    ticket: made(ticket).id,
    order: made(await client.post('/api/subscription/create-gateway-order', order)).id,
    document: Number(made(document)['document_id']),
    command: String(made(command)['command_id']),
  };
}

/** Creates the records that give others access to the vehicle. */
async function linksOf(
  client: Client,
  { mark, userId, vehicleId }: { mark: string; userId: number; vehicleId: number },
): Promise<Record<string, number | string>> {
  made(await client.post('/api/vehicle/share-vehicles', { secondary_user: userId, vehicles: [vehicleId] }));
  const link = made(
    await client.post('/api/share-links', {
      vehicle_id: vehicleId,
      label: mark,
      permissions: ['location', 'live_video'],
    }),
  );
  const url = `https://93.184.216.34/${mark}`;
  const webhook = made(await client.post('/api/user-webhooks', { url, name: mark, vehicle_ids: [vehicleId] }));
  await client.post('/api/notifications/update-push-token', { push_token: `${mark}-push` });
  return { shareLink: link.id, slug: String(link['slug']), webhook: webhook.id };
}

/** Stores data of the vehicle: its last position, its history, and a message. */
async function reportsOf(
  { deps, records }: PlatformHarness,
  { accountId }: Tenant,
  { mark, imei, vehicleId }: { mark: string; imei: string; vehicleId: number },
): Promise<void> {
  const position = testPosition(imei, { latitude: latitudeOf(accountId), longitude: 114 });
  await writeLastLocation(deps, position);
  await appendPositions(deps.database, [{ position, vehicleId, accountId, driverId: null, hash: '0' }]);
  await chatMessageCollection(records).insert(
    { accountId },
    {
      messageKey: `sms:generic:${mark}`,
      channel: 'sms',
      provider: 'generic',
      providerMessageId: mark,
      direction: 'in',
      from: '+14155550100',
      to: '+14155550199',
      text: mark,
      status: 'received',
      userId: null,
      vehicleId,
      receivedAt: new Date(),
    },
  );
}

async function deliveryOf(
  { deps }: PlatformHarness,
  { accountId, owner }: Tenant,
  {
    mark,
    imei,
    vehicleId,
    webhookId,
  }: { mark: string; imei: string; vehicleId: number; webhookId: number | string | undefined },
): Promise<string> {
  return new WebhookRepository(deps.database).deliveries.add({
    webhookId: Number(webhookId),
    accountId,
    userId: owner.id,
    notificationId: 1,
    notificationType: 'sos',
    imei,
    imeiKey: imei,
    vehicleId,
    body: mark,
    status: 'skipped',
  });
}

/** Stores a picture whose file is on the fake upload-ftp pod. */
async function mediaOf(
  harness: PlatformHarness,
  { accountId, owner }: Tenant,
  { imei, vehicleId }: { imei: string; vehicleId: number },
): Promise<{ media: number; mediaUrl: string; capture: string }> {
  const capture = newCapture({ accountId, _id: vehicleId, imei });
  const { captureId } = await captureCollection(harness.records).insert({ accountId }, capture);
  const file = newMedia({ accountId, _id: vehicleId, imei }, mediaPodId, { captureId });
  const { record } = await insertMedia(harness.records, file);
  await incrementUsage(harness.deps.database, record, record.sizeBytes);
  return { capture: captureId, media: record._id, mediaUrl: createMediaUrl(harness.deps, record._id, owner.id) };
}

async function notificationOf(
  { records }: PlatformHarness,
  { accountId }: Tenant,
  { mark, imei, vehicleId }: { mark: string; imei: string; vehicleId: number },
): Promise<number> {
  const fields: Omit<Notification, '_id' | 'accountId' | 'createdAt' | 'updatedAt' | 'version'> = {
    dedupeKey: `${mark}:${imei}`,
    type: 'sos',
    title: mark,
    description: mark,
    category: 'emergency',
    severity: 'critical',
    vehicleId,
    vehicleNo: `${mark}1`,
    imei,
    driverId: null,
    latitude: 0,
    longitude: 0,
    address: null,
    attributes: '{}',
    media: [],
    backfilled: false,
    timestamp: 1_790_000_000_000,
    serverTimestamp: 1_790_000_000_000,
    acknowledgedAt: null,
    acknowledgedBy: null,
  };
  return (await notificationCollection(records).insert({ accountId }, fields))._id;
}
