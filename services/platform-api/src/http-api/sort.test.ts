import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { saveUnassigned } from '../domains/unassigned-devices/store.ts';
import { type Operation, operationsOf, readDocument } from '../testing/openapi-document.ts';
import { type ApiResponse, type Data, PlatformHarness, type TestUser } from '../testing/platform-harness.ts';
import { sampleRequest } from '../testing/sample-requests.ts';
import { makeTenantData, type TenantData } from '../testing/tenant-data.ts';

// Covers every list in every order, which takes long on a busy machine.
jest.setTimeout(120_000);

const document = readDocument();
const isPaged = ({ responses }: Operation): boolean =>
  JSON.stringify(responses[200] ?? {}).includes('#/components/schemas/Pagination');
const lists = operationsOf(document).filter(isPaged);

let harness: PlatformHarness;
let data: TenantData;
let operator: TestUser;

type Stored = Record<string, unknown> & { readonly _id: number | string };

/** Distances of the copies: not in the order of the ids, and with duplicates. */
const steps = [2, 0, 3, 2, 1];
const hourMs = 3_600_000;
const named = new Set(['name', 'vehicleNo', 'highway', 'city', 'state']);
const counted = new Set(['timestamp', 'createdAtMs']);

/** Returns the value of a field for a copy: times differ by hours, names by their first letter. */
function shiftValue(field: string, value: unknown, step: number): unknown {
  if (value instanceof Date) return new Date(value.getTime() - step * hourMs);
  if (typeof value === 'number' && field === 'priority') return step;
  if (typeof value === 'number' && counted.has(field)) return value - step * hourMs;
  return typeof value === 'string' && named.has(field) ? `${'DACB'[step] ?? ''}${value}` : value;
}

/** Inserts copies of a stored record; `more` sets the fields that make each unique. */
async function copyRecord(
  collection: string,
  record: Stored,
  more: (at: number) => object = () => ({}),
): Promise<Stored[]> {
  const copies: Stored[] = [];
  for (const [at, step] of steps.entries()) {
    const fields = Object.entries(record).map(([field, value]) => [field, shiftValue(field, value, step)]);
    copies.push({ ...Object.fromEntries(fields), _id: await harness.records.nextId(collection), ...more(at) });
  }
  await harness.deps.database.db.collection(collection).insertMany(copies as never);
  return copies;
}

async function findStored(collection: string, where: object): Promise<Stored> {
  const found = await harness.deps.database.db.collection(collection).findOne(where);
  if (found === null) throw new Error(`no document in ${collection}`);
  return found as unknown as Stored;
}

/** Collections that contain only what their list returns. */
const plain = [
  'drivers',
  'geofences',
  'mining_devices',
  'partners',
  'support_tickets',
  'orders',
  'documents',
  'commands',
  'chat_messages',
  'share_links',
  'webhooks',
  'notifications',
  'media',
  'vehicle_groups',
  'audit_log',
];

async function fill(): Promise<void> {
  const { accountId, owner } = data.tenant;
  for (const collection of plain) await copyRecord(collection, await findStored(collection, { accountId }));
  const group = { parentGroup: data.names['group'] };
  await copyRecord('vehicle_groups', await findStored('vehicle_groups', { accountId }), () => group);
  await copyRecord('api_keys', await findStored('api_keys', { accountId, sealedDashboardKey: null }));
  const session = await findStored('sessions', { accountId, userId: owner.id });
  await copyRecord('sessions', session, () => ({ expiresAt: session['expiresAt'] }));
  // Prevents the record of the last use from changing the order during the test.
  const tomorrow = { $set: { lastUsedAt: new Date(Date.now() + 24 * hourMs) } };
  await harness.deps.database.db.collection('sessions').updateMany({ _id: owner.sessionId } as object, tomorrow);
  const vehicles = await copyRecord('vehicles', await findStored('vehicles', { accountId }), () => ({ imei: null }));
  const route = await findStored('routes', { accountId });
  await copyRecord('routes', route, () => ({ vehicleIds: [data.names['vehicle']] }));
  const users = await copyRecord('users', await findStored('users', { _id: data.names['user'] }));
  const share = await findStored('shares', { accountId });
  await copyRecord('shares', share, (at) => ({ vehicleId: vehicles[at]?._id }));
  await copyRecord('shares', share, (at) => ({ secondaryUserId: users[at]?._id }));
  const account = await findStored('accounts', { _id: data.names['account'] });
  const accounts = await copyRecord('accounts', account);
  const dealer = await findStored('users', { _id: data.dealer.id });
  await copyRecord('users', dealer, (at) => ({ accountId: accounts[at]?._id }));
  const delivery = await findStored('webhook_deliveries', { accountId });
  const numbers = steps.map((_step, at) => ({ _id: `${at}`.padStart(24, '0'), number: 1_000 + at }));
  await copyRecord('webhook_deliveries', delivery, (at) => numbers[at] ?? {});
  const upload = await findStored('uploads', { accountId });
  await copyRecord('uploads', upload, (at) => ({ ...numbers[at], clipKey: `copy ${at}` }));
  const now = new Date();
  const gate = {
    latitude: 22.5,
    longitude: 114,
    rates: [],
    source: 'test',
    createdAt: now,
    updatedAt: now,
    version: 1,
  };
  const words = { name: 'Gate', highway: null, city: 'Kochi', state: 'Kerala', country: 'India' };
  const rest = { operator: null, direction: null, effectiveFrom: null, key: 'gate' };
  for (const [at, step] of steps.entries()) {
    const seenAt = new Date(Date.now() - step * hourMs - at);
    await saveUnassigned(harness.records, `${9_000 + at}`, seenAt, {});
  }
  await copyRecord('toll_gates', { ...gate, ...words, ...rest, _id: 0 });
}

beforeAll(async () => {
  harness = await PlatformHarness.open();
  data = await makeTenantData(harness, harness.ours, 'MARK');
  operator = await harness.user('superadmin');
  await fill();
});
afterAll(() => harness?.close());

const userFor = ({ path }: Operation): TestUser => {
  if (path === '/api/unassigned-devices') return operator;
  return path.startsWith('/api/accounts') || path.startsWith('/api/dealers') ? data.dealer : data.tenant.owner;
};

// Not today, which may end between two requests.
const queries = { listVehicleNotifications: () => ({ from: '0' }) };
const bodies = {};

/** Requests a page of a list. A list that is requested by POST has its page in the body. */
function sendList(operation: Operation, part: Record<string, string | number>): Promise<ApiResponse> {
  const { path } = sampleRequest(document, operation, { path: data, rest: data, only: '' }, { queries, bodies });
  const client = harness.as(userFor(operation));
  if (operation.method === 'post') return client.post(path, part);
  const query = new URLSearchParams(
    Object.entries(part).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return client.get(`${path}${path.includes('?') ? '&' : '?'}${query.toString()}`);
}

function sortableFields({ parameters, requestBody }: Operation): string[] {
  const inBody = requestBody?.content['application/json']?.schema.properties?.['sort'];
  const { enum: orders = [] } = parameters.find(({ name }) => name === 'sort')?.schema ?? inBody ?? {};
  return orders as string[];
}

/** Compares values as MongoDB does: null first. Times in one format compare as text. */
function compared(a: unknown, b: unknown): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return (a as string | number) < (b as string | number) ? -1 : Number((a as string | number) > (b as string | number));
}

/** Returns true if one record precedes the other in a list sorted by a field; the id breaks ties. */
function isBefore(a: Data | undefined, b: Data, field: string, direction: number): boolean {
  // If the response lacks the field, only distinct records can be checked.
  if (a === undefined || !(field in a)) return a?.id !== b.id;
  return direction * (compared(a[field], b[field]) || a.id - b.id) < 0;
}

describe('sort (docs/reference/conventions.md)', () => {
  it('is supported by every list', () => {
    expect(lists.length).toBeGreaterThan(25);
    expect(lists.filter((list) => sortableFields(list).length === 0).map(({ operationId }) => operationId)).toEqual([]);
  });

  it.each(lists.map((list) => [list.operationId, list] as const))(
    '%s returns each of its orders, and all records over its pages',
    async (operationId, list) => {
      for (const sort of sortableFields(list)) {
        const { status, items } = await sendList(list, { sort, limit: 200 });
        expect({ sort, status }).toEqual({ sort, status: 200 });
        // The plan file has two plans. A list without records lacks its collection in `plain`.
        expect(items.length).toBeGreaterThanOrEqual(operationId === 'listPlans' ? 2 : 5);
        const [field, direction] = sort.startsWith('-') ? [sort.slice(1), -1] : [sort, 1];
        const wrong = items.filter((item, at) => at > 0 && !isBefore(items[at - 1], item, field, direction));
        expect({ sort, wrong }).toEqual({ sort, wrong: [] });
        const pages = [];
        for (let page = 1; page <= Math.ceil(items.length / 4); page += 1)
          pages.push(...(await sendList(list, { sort, limit: 4, page })).items);
        expect({ sort, ids: pages.map(({ id }) => id) }).toEqual({ sort, ids: items.map(({ id }) => id) });
      }
    },
  );
});
