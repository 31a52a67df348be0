import { randomBytes } from 'node:crypto';
import { compileBody } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { isPermitted, type Permission } from '../access/roles.ts';
import { declaredRoutes } from '../assembly/api-document.ts';
import type { AuditEntry } from '../domains/audit/schema.ts';
import { startFakeDispatcher } from '../testing/fake-dispatcher.ts';
import { type FakeMediaPod, mediaPodId, openFakeMediaPod } from '../testing/fake-media-pod.ts';
import { type Operation, operationsOf, readDocument, type Schema, undescribed } from '../testing/openapi-document.ts';
import {
  type ApiResponse,
  type Client,
  PlatformHarness,
  type TestUser,
  testPassword,
} from '../testing/platform-harness.ts';
import {
  findRecordReferences,
  type SampleOverrides,
  type SampleRequest,
  type SampleTenants,
  sampleRequest,
} from '../testing/sample-requests.ts';
import { digits, makeTenantData, type TenantData, wayOf } from '../testing/tenant-data.ts';

// Covers every operation of the document, which takes long on a busy machine.
jest.setTimeout(300_000);

const document = readDocument();
const operations = operationsOf(document);
const routes = new Map(declaredRoutes().map((route) => [route.operationId, route]));

const passport = 'P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10';

/** Body fields that cannot be derived from the schema. */
const bodies: SampleOverrides['bodies'] = {
  register: () => ({ name: 'New', email: `${newWord()}@fleet.example`, password: testPassword, account_name: 'New' }),
  login: ({ tenant }) => ({ identifier: tenant.owner.email, password: testPassword }),
  sendOneTimeCode: ({ names }) => ({ phone_number: names['phone'] }),
  verifyOneTimeCode: ({ names }) => ({ phone_number: names['phone'], code: '000000' }),
  forgotPassword: ({ tenant }) => ({ identifier: tenant.owner.email }),
  resetPassword: () => ({ token: 'x'.repeat(43), password: testPassword }),
  refresh: ({ refreshToken }) => ({ refresh_token: refreshToken }),
  startTwoFactor: () => ({ code: undefined }),
  updateDashcamMedia: () => ({ protected: false }),
  endTwoFactor: () => ({ code: '000000' }),
  createUser: () => ({ name: 'New', email: `${newWord()}@fleet.example`, role: 'viewer' }),
  inviteUser: () => ({ email: `${newWord()}@fleet.example`, role: 'viewer' }),
  openAccount: () => ({ name: 'New', owner: { name: 'New', email: `${newWord()}@fleet.example` } }),
  createVehicle: () => ({ vehicle_no: newWord() }),
  importVehicles: () => ({ rows: [{ vehicle_no: newWord() }] }),
  updateVehicleGroup: () => ({ vehicles: undefined, parent_group: undefined }),
  createGeofence: () => ({ type: 'circle', coordinates: [[22.5, 114]], radius_m: 50 }),
  createRoute: () => wayOf,
  updateVehiclePreferences: () => ({ notification_types: ['sos'] }),
  extractDocument: () => ({ text: passport }),
  createDocument: () => ({ content_base64: Buffer.from('%PDF-1.4').toString('base64'), mime_type: undefined }),
  broadcastVoice: () => ({
    group_id: undefined,
    audio: undefined,
    content_base64: undefined,
    language: undefined,
    text: 'Hello',
  }),
  acknowledgeNotifications: ({ names }) => ({ ids: [Number(names['notification'])] }),
  updatePushToken: () => ({ push_token: newWord() }),
  searchUserForShare: ({ names }) => ({ phone_number: names['phone'] }),
  createWebhook: () => ({ url: 'https://93.184.216.34/new' }),
  createMiningDevice: () => ({ imei: digits(15) }),
  createGatewayOrder: () => ({ plan: 'basic', months: 1 }),
  startDashcamPlayback: () => ({ from: '2026-01-22T06:00:00Z', to: '2026-01-22T06:01:00Z' }),
  requestDownload: () => ({ from: '2026-01-22T06:00:00Z', to: '2026-01-22T06:01:00Z' }),
  createCommand: () => ({ type: 'text', params: { text: 'Hello' } }),
  pushPartnerHeartbeats: ({ names }) => ({ data_list: [{ deviceImei: names['miningImei'] }, { imei: names['imei'] }] }),
  receiveSms: () => ({ id: newWord(), from: '+14155550100', to: '+14155550199', text: 'Hello' }),
  receiveVoice: () => ({ call_id: newWord(), from: '+14155550100', transcript: 'Hello' }),
  pushPartnerPositions: ({ names }) => ({
    data_list: ['miningImei', 'imei'].map((kind) => ({
      deviceImei: names[kind],
      lat: 22.5,
      lng: 114,
      gpsTime: new Date().toISOString(),
    })),
  }),
};

const known: SampleOverrides = {
  bodies,
  queries: {
    listRecordings: () => ({ from: '2026-01-22T06:00:00Z', to: '2026-01-22T07:00:00Z' }),
    getDashcamMediaFile: ({ names }) => Object.fromEntries(new URL(String(names['mediaUrl'])).searchParams),
  },
};

/** Operations that are open to any account: a caller with the link, or the exact number, may read this data. */
const publicOperations = new Set(['openShareLink', 'openPublicShareLink', 'startSharedStream', 'searchUserForShare']);

/** Operations that cannot succeed with the tenants' data, with the status that shows that the handler ran. */
const refusedToOwnTenant: Readonly<Record<string, readonly number[]>> = {
  // The codes and tokens are guessed.
  verifyOneTimeCode: [401],
  resetPassword: [401],
  checkPasswordToken: [401],
  endTwoFactor: [401, 409],
  // Links and gateway events must be signed, and no payment gateway is configured.
  getBillingPage: [401],
  takeGatewayEvent: [401],
  verifyPayment: [409],
  // The sample user has a password.
  inviteUserAgain: [409],
  // The account is a customer's, which only its owner or the operator deletes.
  deleteAccount: [404],
  // The installation has several accounts, and their terminals all belong to vehicles.
  listUnassignedDevices: [403],
  lookUpUnassignedDevice: [404],
  // No terminal is connected, because device-api does not run.
  startDashcamStream: [503],
  getDashcamStream: [503],
  startDashcamPlayback: [503],
  getDashcamPlayback: [404],
  controlDashcamPlayback: [404],
  captureDashcamMedia: [503],
  requestDownload: [503],
  controlDownload: [503],
  // No text-to-speech provider is configured.
  broadcastVoice: [503],
};

/** Operations without an entry in the audit log, and the reason. */
const unauditedOperations: Readonly<Record<string, string>> = {
  sendOneTimeCode: 'changes nothing but the code itself',
  forgotPassword: 'changes nothing; the reset that follows is audited',
  refresh: 'continues a session, whose log-in is audited',
  startTwoFactor: 'prepares a secret; the confirmation that turns it on is audited',
  snapToRoad: 'reads',
  searchUserForShare: 'reads',
  listMiningDevices: 'reads',
  updatePushToken: 'registers an app for push messages at each of its starts',
  extractDocument: 'stores nothing unless `store` is set; a document that is stored is audited',
  pushPartnerHeartbeats: 'telemetry of a partner',
  pushPartnerPositions: 'telemetry of a partner',
  receiveSms: 'stored in the chat log',
  receiveVoice: 'stored in the chat log',
  stopDashcamStream: 'audited for each stream that it stops; none runs',
  replyToSupportTicket: 'the ticket names the author of each reply',
};

const newWord = (): string => `N${randomBytes(6).toString('hex')}`;

let harness: PlatformHarness;
let ours: TenantData;
let theirs: TenantData;
let pod: FakeMediaPod;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  startFakeDispatcher(harness.bus);
  pod = await openFakeMediaPod(harness.bus, mediaPodId);
  pod.respond = (_request, response) => void response.writeHead(200, { 'content-type': 'image/jpeg' }).end('picture');
  ours = await makeTenantData(harness, harness.ours, 'OURMARK');
  theirs = await makeTenantData(harness, harness.theirs, 'THEIRMARK');
});
afterAll(async () => {
  await harness?.close();
  await pod?.close();
});

const credentialKind = ({ operationId }: Operation) => routes.get(operationId)?.access.credentials ?? 'both';

/** Returns the most privileged user of a tenant: its owner, or its dealer user for accounts of customers. */
function userFor({ operationId, path }: Operation, { tenant, dealer }: TenantData): TestUser {
  const permission: Permission = routes.get(operationId)?.access.permission ?? 'read';
  const isOfCustomers = path.startsWith('/api/accounts') && permission !== 'accountDeletion';
  return isPermitted('owner', permission) && !isOfCustomers ? tenant.owner : dealer;
}

function clientFor(operation: Operation, data: TenantData): Client {
  const user = userFor(operation, data);
  const headers: Record<string, Record<string, string>> = {
    none: {},
    key: { 'x-api-key': data.mintingKey },
    bearer: { authorization: `Bearer ${user.token}` },
    session: { authorization: `Bearer ${user.token}` },
  };
  return harness.with(
    headers[credentialKind(operation)] ?? { 'x-api-key': data.mintingKey, authorization: `Bearer ${user.token}` },
  );
}

const send = (
  client: Client,
  { method }: Operation,
  { path, body }: SampleRequest,
  headers: Record<string, string> = {},
): Promise<ApiResponse> =>
  method === 'get'
    ? client.get(path, headers)
    : method === 'delete'
      ? client.delete(path, headers, body)
      : client[method](path, body, headers);

/** Returns every stored document of an account, as text. */
async function stored({ tenant, names }: TenantData): Promise<string[]> {
  const { db } = harness.deps.database;
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

/** Returns all fields of a value that name records of a kind and contain an id of the tenant. */
function collectIds(value: unknown, { names, tenant, dealer }: TenantData): string[] {
  const kinds = ['vehicle', 'driver', 'group', 'geofence', 'route', 'webhook', 'media', 'partner'].map(
    (kind) => [kind, [names[kind]]] as const,
  );
  const all = new Map<string, readonly unknown[]>([
    ...kinds,
    ['user', [names['user'], tenant.owner.id, dealer.id]],
    ['account', [names['account'], tenant.accountId]],
  ]);
  const found: string[] = [];
  const visit = (part: unknown, name: string): void => {
    if (Array.isArray(part)) for (const item of part) visit(item, name);
    else if (typeof part === 'object' && part !== null)
      for (const [key, each] of Object.entries(part)) visit(each, key);
    else {
      const [, kind = ''] = /(?:^|_)([a-z]+?)(?:_ids?|s)?$/.exec(name.replaceAll(/[A-Z]/g, '_$&').toLowerCase()) ?? [];
      if (all.get(kind)?.includes(part) === true) found.push(`${name}: ${String(part)}`);
    }
  };
  visit(value, '');
  return found;
}

/** Checks that a response contains no data of a tenant, whatever its status. */
function expectNoDataOf(data: TenantData, { status, body }: ApiResponse): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const { slug, phone, imei, miningImei, latitude, media } = data.names;
  const secrets = [data.mark, data.mintingKey, data.tenant.apiKey, data.tenant.owner.email, slug, imei, miningImei];
  const known = [...secrets, phone, latitude, `dashcam-media/${media}/`];
  expect(known.filter((secret) => text.includes(String(secret)))).toEqual([]);
  expect(status < 300 ? collectIds(body, data) : []).toEqual([]);
}

type Check = ReturnType<typeof compileBody>;
/** Compiled validators of responses by schema text, because compiling takes long. */
const checks = new Map<string, Check>();

function validatorOf(schema: Schema): Check {
  const text = JSON.stringify(schema);
  const check = checks.get(text) ?? compileBody({ ...schema, components: document.components });
  checks.set(text, check);
  return check;
}

/** Checks that the document describes the response and all its fields. */
function expectDescribed({ responses }: Operation, { status, body }: ApiResponse): void {
  expect(Object.keys(responses)).toContain(String(status));
  const schema = responses[status]?.content?.['application/json']?.schema;
  const check = validatorOf(schema ?? {});
  expect(() => check(structuredClone(body))).not.toThrow(/./);
  expect(undescribed(document, schema, body)).toEqual([]);
}

const named = operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const);

/**
 * Returns all combinations that put ids of the other tenant into a request. `found` is false if the path names a record
 * that the caller cannot see.
 */
function buildAttempts(operation: Operation): { whose: SampleTenants; found: boolean }[] {
  const { operationId, method, parameters } = operation;
  const parts = parameters.filter((parameter) => parameter.in === 'path').length;
  const isOpen = credentialKind(operation) === 'none';
  // Logging in with the other tenant's password is legitimate; no other open operation accepts data of a tenant.
  if (publicOperations.has(operationId) || (isOpen && parts === 0)) return [];
  const hidden = [{ path: theirs, rest: ours }, ...(parts > 1 ? [{ path: ours, end: theirs, rest: ours }] : [])];
  if (isOpen) return hidden.map((whose) => ({ whose, found: false }));
  const mixed = findRecordReferences(document, operation).map((only) => ({ path: ours, rest: theirs, only }));
  const whole = { path: ours, rest: theirs };
  const alone = method === 'get' ? [{ ...whole, only: '' }] : [];
  return [
    ...[{ path: theirs, rest: theirs }, ...hidden].map((whose) => ({ whose, found: parts === 0 })),
    ...[whole, ...alone, ...mixed].map((whose) => ({ whose, found: true })),
  ];
}

describe('requests of one tenant with the ids of another', () => {
  let before: string[];
  beforeAll(async () => {
    before = await stored(theirs);
  });

  it.each(named)('%s reads, changes and reveals nothing', async (_name, operation) => {
    const client = clientFor(operation, ours);
    for (const { whose, found } of buildAttempts(operation)) {
      const sample = sampleRequest(document, operation, whose, known);
      // Without a foreign id, only reads are relevant.
      if (operation.method !== 'get' && !sample.names.path && !sample.names.rest) continue;
      // Without a foreign id, the request would change records of its own tenant.
      if (operation.method !== 'get' && whose.path === ours && whose.end === undefined && !sample.names.rest) continue;
      const response = await send(client, operation, sample);
      expectDescribed(operation, response);
      expectNoDataOf(theirs, response);
      const refusals = credentialKind(operation) === 'none' ? [401, 403, 404] : [404];
      const { status, body } = response;
      const isRight = found || refusals.includes(status);
      expect({ path: sample.path, status, body, isRight }).toEqual({ path: sample.path, status, body, isRight: true });
    }
    // The effect of reads is checked once, at the end.
    expect(operation.method === 'get' ? before : await stored(theirs)).toEqual(before);
  });

  it("leaves the other tenant's records unchanged, and stores no reference to them", async () => {
    expect(await stored(theirs)).toEqual(before);
    const named = (await stored(ours)).flatMap((text) => {
      const at = text.indexOf(' ');
      return collectIds(JSON.parse(text.slice(at)), theirs).map((id) => `${text.slice(0, at)} ${id}`);
    });
    expect(named).toEqual([]);
  });
});

describe('X-Account-Id of another tenant', () => {
  // Logging out would end this test.
  const requested = named.filter(([, each]) => credentialKind(each) !== 'none' && each.operationId !== 'logout');

  let before: string[];
  beforeAll(async () => {
    before = await stored(theirs);
  });

  it.each(requested)('%s ignores the header or rejects the request', async (_name, operation) => {
    const headers = { 'x-account-id': String(theirs.tenant.accountId) };
    const sample = sampleRequest(document, operation, { path: theirs, rest: theirs }, known);
    const response = await send(clientFor(operation, ours), operation, sample, headers);
    expectNoDataOf(theirs, response);
    expect(operation.method === 'get' ? before : await stored(theirs)).toEqual(before);
  });
});

describe('requests of a driver without a vehicle', () => {
  let driver: TestUser;
  beforeAll(async () => {
    driver = await harness.user('driver', theirs.tenant, { canViewVideo: true });
  });
  const reads = named.filter(
    ([, each]) => each.method === 'get' && credentialKind(each) !== 'none' && !publicOperations.has(each.operationId),
  );

  it.each(reads)('%s reveals no vehicle', async (_name, operation) => {
    const client = harness.with({ 'x-api-key': theirs.mintingKey, authorization: `Bearer ${driver.token}` });
    const { imei, miningImei, latitude, slug, phone } = theirs.names;
    const secrets = [theirs.mark, imei, miningImei, latitude, slug, phone].map(String);
    const whose = { path: theirs, rest: theirs };
    for (const each of [
      whose,
      ...['', ...findRecordReferences(document, operation)].map((only) => ({ ...whose, only })),
    ]) {
      const { body } = await send(client, operation, sampleRequest(document, operation, each, known));
      const text = JSON.stringify(body);
      expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
    }
  });
});

describe('key and token of different tenants', () => {
  const both = named.filter(([, operation]) => credentialKind(operation) === 'both');

  it.each(both)('%s is rejected', async (_name, operation) => {
    const [mine, other] = [userFor(operation, ours), userFor(operation, theirs)];
    for (const [createKeyOf, createTokenOf] of [
      [mine, other],
      [other, mine],
    ] as const) {
      const client = harness.with({ 'x-api-key': createKeyOf.apiKey, authorization: `Bearer ${createTokenOf.token}` });
      for (const data of [ours, theirs]) {
        const sample = sampleRequest(document, operation, { path: data, rest: data }, known);
        expect(await send(client, operation, sample)).toMatchObject({
          status: 403,
          body: { code: 'key_user_mismatch' },
        });
      }
    }
  });
});

/** Reads first, and operations that end something last. */
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

const auditLog = () => harness.records.collection<AuditEntry>('audit_log');

async function newestEntryId(): Promise<number> {
  const [newest] = await auditLog().find({}).sort({ _id: -1 }).limit(1).toArray();
  return newest?._id ?? 0;
}

/** Returns the actions of all audit entries after an id. */
const actionsSince = async (id: number): Promise<string[]> =>
  (
    await auditLog()
      .find({ _id: { $gt: id } })
      .toArray()
  ).map(({ action }) => action);

describe('the same requests of the tenant itself', () => {
  /** The audit entries of each operation that succeeded and changes something. */
  const actions = new Map<string, string[]>();

  it.each(named.toSorted(([, a], [, b]) => order(a) - order(b)))('%s succeeds', async (_name, operation) => {
    const sample = sampleRequest(document, operation, { path: theirs, rest: theirs }, known);
    const takesKeys = operation.parameters.some(({ name }) => name === 'Idempotency-Key');
    const headers: Record<string, string> = takesKeys ? { 'idempotency-key': 'the same of both' } : {};
    const newestEntry = await newestEntryId();
    const response = await send(clientFor(operation, theirs), operation, sample, headers);
    const allowed = refusedToOwnTenant[operation.operationId] ?? [200, 201, 202];
    expect({ status: response.status, body: response.body }).toEqual({
      status: allowed.includes(response.status) ? response.status : allowed,
      body: response.body,
    });
    expectDescribed(operation, response);
    if (operation.method !== 'get' && response.status < 300)
      actions.set(operation.operationId, await actionsSince(newestEntry));
    if (!takesKeys || credentialKind(operation) === 'none') return;
    // The response must not be replayed for another tenant.
    const again = await send(clientFor(operation, ours), operation, sample, headers);
    expect(again.headers.get('idempotent-replayed')).toBeNull();
    expectNoDataOf(theirs, again);
  });
  it('leaves an audit entry for each change, except for the listed operations', () => {
    const withoutEntry = [...actions].filter(([, each]) => each.length === 0).map(([operationId]) => operationId);
    expect(withoutEntry.toSorted()).toEqual(Object.keys(unauditedOperations).toSorted());
  });
});
