import { randomBytes } from 'node:crypto';
import { compileBody } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { may, type Permission } from './access/roles.ts';
import { declaredRoutes } from './api-document.ts';
import { standInForDispatcher } from './testing/dispatcher-stub.ts';
import { type Operation, operationsOf, readDocument } from './testing/document.ts';
import { type Answer, type Client, PlatformWorld, type TestUser, testPassword } from './testing/platform-world.ts';
import { type Bodies, type Sample, sampleOf } from './testing/samples.ts';
import { makeTenantData, type TenantData, wayOf } from './testing/tenant-data.ts';

// Every operation of the document, on a machine that may be busy.
jest.setTimeout(300_000);

const document = readDocument();
const operations = operationsOf(document);
const routes = new Map(declaredRoutes().map((route) => [route.operationId, route]));

const passport = 'P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10';

/** Fields of bodies that the schema does not tell how to fill in. */
const bodies: Bodies = {
  register: () => ({ name: 'New', email: `${newWord()}@fleet.example`, password: testPassword, account_name: 'New' }),
  login: ({ tenant }) => ({ identifier: tenant.owner.email, password: testPassword }),
  sendOneTimeCode: ({ names }) => ({ phone_number: names['phone'] }),
  verifyOneTimeCode: ({ names }) => ({ phone_number: names['phone'], code: '000000' }),
  forgotPassword: ({ tenant }) => ({ identifier: tenant.owner.email }),
  resetPassword: () => ({ token: 'x'.repeat(43), password: testPassword }),
  refresh: ({ refreshToken }) => ({ refresh_token: refreshToken }),
  startTwoFactor: () => ({ code: undefined }),
  endTwoFactor: () => ({ code: '000000' }),
  createUser: () => ({ name: 'New', email: `${newWord()}@fleet.example`, role: 'viewer' }),
  inviteUser: () => ({ email: `${newWord()}@fleet.example`, role: 'viewer' }),
  openAccount: () => ({ name: 'New', owner: { name: 'New', email: `${newWord()}@fleet.example` } }),
  createVehicle: () => ({ vehicle_no: newWord() }),
  updateVehicleGroup: () => ({ vehicles: undefined, parent_group: undefined }),
  createGeofence: () => ({ type: 'circle', coordinates: [[22.5, 114]], radius_m: 50 }),
  createRoute: () => wayOf,
  updateVehiclePreferences: () => ({ notification_types: ['sos'] }),
  extractDocument: () => ({ text: passport }),
  updatePushToken: () => ({ push_token: newWord() }),
  searchUserForShare: ({ names }) => ({ phone_number: names['phone'] }),
  createWebhook: () => ({ url: 'https://93.184.216.34/new' }),
  createMiningDevice: () => ({ imei: String(Date.now()).padStart(15, '9') }),
  createGatewayOrder: () => ({ plan: 'basic', months: 1 }),
  createCommand: () => ({ type: 'text', params: { text: 'Hello' } }),
  pushPartnerHeartbeats: () => ({ data_list: [] }),
  receiveSms: () => ({ id: newWord(), from: '+14155550100', to: '+14155550199', text: 'Hello' }),
  receiveVoice: () => ({ call_id: newWord(), from: '+14155550100', transcript: 'Hello' }),
  pushPartnerPositions: () => ({ data_list: [] }),
};

/** What is open to any account by its nature: who has the link, or the exact number, is shown this much. */
const openToAll = new Set(['openShareLink', 'openPublicShareLink', 'searchUserForShare']);

/** Operations that can not succeed with what the tenants have: the refusal that shows that they were really reached. */
const refusedAtHome: Readonly<Record<string, readonly number[]>> = {
  // Codes and tokens are guessed here.
  verifyOneTimeCode: [401],
  resetPassword: [401],
  endTwoFactor: [401, 409],
  // Signatures of links, files and of payment gateways are checked, and this product has no gateway.
  getBillingPage: [401],
  getDashcamMediaFile: [401],
  takeGatewayEvent: [401],
  verifyPayment: [409],
  // The account is that of a customer, which its owner or the operator deletes.
  deleteAccount: [404],
  // Its vehicle has not reported where it is.
  generateRoute: [404],
};

const newWord = (): string => `N${randomBytes(6).toString('hex')}`;

let world: PlatformWorld;
let ours: TenantData;
let theirs: TenantData;
beforeAll(async () => {
  world = await PlatformWorld.open();
  standInForDispatcher(world.bus);
  ours = await makeTenantData(world, world.ours, 'OURMARK');
  theirs = await makeTenantData(world, world.theirs, 'THEIRMARK');
});
afterAll(() => world?.close());

const credentialsOf = ({ operationId }: Operation) => routes.get(operationId)?.access.credentials ?? 'both';

/** Who of a tenant may do most there: its owner, or its dealer user where accounts of customers are asked for. */
function userFor({ operationId, path }: Operation, { tenant, dealer }: TenantData): TestUser {
  const permission: Permission = routes.get(operationId)?.access.permission ?? 'read';
  const isOfCustomers = path.startsWith('/api/accounts') && permission !== 'accountDeletion';
  return may('owner', permission) && !isOfCustomers ? tenant.owner : dealer;
}

function clientFor(operation: Operation, data: TenantData): Client {
  const user = userFor(operation, data);
  const headers: Record<string, Record<string, string>> = {
    none: {},
    key: { 'x-api-key': data.mintingKey },
    bearer: { authorization: `Bearer ${user.token}` },
  };
  return world.with(
    headers[credentialsOf(operation)] ?? { 'x-api-key': data.mintingKey, authorization: `Bearer ${user.token}` },
  );
}

const send = (client: Client, { method }: Operation, { path, body }: Sample): Promise<Answer> =>
  method === 'get' || method === 'delete'
    ? client[method](path, {}, ...((body === undefined ? [] : [body]) as []))
    : client[method](path, body);

/** Every stored document of an account, as text. */
async function stored({ tenant, names }: TenantData): Promise<string[]> {
  const { db } = world.deps.database;
  const collections = (await db.listCollections().toArray()).map(({ name }) => name);
  const accounts = [tenant.accountId, Number(names['account'])];
  const found: string[] = [];
  for (const name of collections.toSorted()) {
    const field = name === 'accounts' ? '_id' : 'accountId';
    const where: object = { [field]: { $in: accounts } };
    const documents = await db.collection(name).find(where).sort({ _id: 1 }).toArray();
    found.push(...documents.map((each) => `${name} ${JSON.stringify(each)}`));
  }
  return found;
}

/** All places of an answer where an id of a tenant stands in a field that names records of that kind. */
function idsOf(answer: unknown, { names }: TenantData): string[] {
  const kinds = new Map(
    ['vehicle', 'driver', 'group', 'geofence', 'user', 'account'].map((kind) => [kind, names[kind]] as const),
  );
  const found: string[] = [];
  const look = (value: unknown, at: string): void => {
    if (Array.isArray(value)) for (const item of value) look(item, at);
    else if (typeof value === 'object' && value !== null)
      for (const [key, part] of Object.entries(value)) look(part, key);
    else
      for (const [kind, id] of kinds)
        if (value === id && (at === `${kind}_id` || at === `${kind}_ids` || at === `${kind}s`))
          found.push(`${at}: ${id}`);
  };
  look(answer, '');
  return found;
}

/** Nothing of a tenant stands in an answer, whatever its status. */
function expectNothingOf(data: TenantData, { status, body }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { slug, phone, imei } = data.names;
  const secrets = [data.mark, data.mintingKey, data.tenant.apiKey, data.tenant.owner.email, slug, imei, phone];
  expect(secrets.filter((secret) => text.includes(String(secret)))).toEqual([]);
  expect(status < 300 ? idsOf(body, data) : []).toEqual([]);
}

/** The answer is one that the document has. */
function expectDescribed({ responses }: Operation, { status, body }: Answer): void {
  expect(Object.keys(responses)).toContain(String(status));
  const schema = responses[status]?.content['application/json']?.schema;
  const check = compileBody({ ...schema, components: document.components });
  expect(() => check(structuredClone(body))).not.toThrow(/./);
}

const named = operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const);

describe('what one tenant does with the ids of another', () => {
  let before: string[];
  beforeAll(async () => {
    before = await stored(theirs);
  });

  it.each(named)('%s reads, changes and reveals nothing', async (_name, operation) => {
    const client = clientFor(operation, ours);
    // A log-in with their password is theirs; nothing else takes what they know.
    const isOwn = credentialsOf(operation) === 'none' || openToAll.has(operation.operationId);
    const attempts = isOwn ? [] : [sampleOf(document, operation, { path: theirs, rest: theirs }, bodies)];
    for (const sample of attempts) {
      // What names nobody can only read.
      if (operation.method !== 'get' && !sample.names.path && !sample.names.rest) continue;
      const answer = await send(client, operation, sample);
      expectDescribed(operation, answer);
      expectNothingOf(theirs, answer);
      expect(sample.names.path ? [answer.status, answer.body] : [404, answer.body]).toEqual([404, answer.body]);
      if (!sample.names.path || !sample.names.rest || operation.method === 'get') continue;
      const mixed = sampleOf(document, operation, { path: ours, rest: theirs }, bodies);
      expectNothingOf(theirs, await send(client, operation, mixed));
    }
    expect(await stored(theirs)).toEqual(before);
  });
});

describe('key and token of different tenants', () => {
  const both = named.filter(([, operation]) => credentialsOf(operation) === 'both');

  it.each(both)('%s is refused', async (_name, operation) => {
    const [mine, other] = [userFor(operation, ours), userFor(operation, theirs)];
    for (const [keyOf, tokenOf] of [
      [mine, other],
      [other, mine],
    ] as const) {
      const client = world.with({ 'x-api-key': keyOf.apiKey, authorization: `Bearer ${tokenOf.token}` });
      for (const data of [ours, theirs]) {
        const sample = sampleOf(document, operation, { path: data, rest: data }, bodies);
        expect(await send(client, operation, sample)).toMatchObject({
          status: 403,
          body: { code: 'key_user_mismatch' },
        });
      }
    }
  });
});

/** Reads first, and what ends something last. */
const order = ({ method, operationId }: Operation): number =>
  operationId === 'logout'
    ? 4
    : operationId === 'deleteVehicle'
      ? 3
      : ['get', 'put', 'post', 'delete'].indexOf(method) === 3
        ? 2
        : method === 'get'
          ? 0
          : 1;

describe('the same requests of the tenant itself', () => {
  it.each(named.toSorted(([, a], [, b]) => order(a) - order(b)))('%s is exercised', async (_name, operation) => {
    const sample = sampleOf(document, operation, { path: theirs, rest: theirs }, bodies);
    const answer = await send(clientFor(operation, theirs), operation, sample);
    const allowed = refusedAtHome[operation.operationId] ?? [200, 201, 202];
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: allowed.includes(answer.status) ? answer.status : allowed,
      body: answer.body,
    });
    expectDescribed(operation, answer);
  });
});
