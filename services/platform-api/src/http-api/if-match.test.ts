import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { startFakeDispatcher } from '../testing/fake-dispatcher.ts';
import { type FakeMediaPod, mediaPodId, openFakeMediaPod } from '../testing/fake-media-pod.ts';
import { type Operation, operationsOf, readDocument, resolveSchema } from '../testing/openapi-document.ts';
import { type ApiResponse, PlatformHarness, type TestUser } from '../testing/platform-harness.ts';
import { sampleRequest } from '../testing/sample-requests.ts';
import { makeTenantData, type TenantData } from '../testing/tenant-data.ts';

// Covers the records of a whole tenant, which takes long on a busy machine.
jest.setTimeout(120_000);

const document = readDocument();

/** Operations that return a record without changing it: ending two-factor log-in returns the user. */
const readOnlyOperations = new Set(['endTwoFactor']);

function isVersioned({ method, operationId, responses }: Operation): boolean {
  if ((method !== 'put' && method !== 'delete') || readOnlyOperations.has(operationId)) return false;
  const response = resolveSchema(document, responses['200']?.content?.['application/json']?.schema ?? {});
  const record = resolveSchema(document, response.properties?.['data'] ?? {});
  return record.properties?.['version'] !== undefined;
}

/** Updates first, and records that others depend on last. */
const last = ['deleteVehicle', 'deleteUser', 'deleteAccount'];
const order = ({ method, operationId }: Operation): number =>
  method === 'put' ? 0 : last.includes(operationId) ? 2 + last.indexOf(operationId) : 1;

const operations = operationsOf(document)
  .filter(isVersioned)
  .toSorted((a, b) => order(a) - order(b));

let harness: PlatformHarness;
let data: TenantData;
let operator: TestUser;
let pod: FakeMediaPod;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  startFakeDispatcher(harness.bus);
  pod = await openFakeMediaPod(harness.bus, mediaPodId);
  data = await makeTenantData(harness, harness.ours, 'MARK');
  operator = await harness.user('superadmin');
  // These records are created on the first read.
  for (const path of ['/api/user-preferences/me', '/api/global-config']) await harness.as(data.tenant.owner).get(path);
  // Prevents the record of the last use from changing a session during the test.
  const tomorrow = { $set: { lastUsedAt: new Date(Date.now() + 86_400_000) } };
  await harness.deps.database.db.collection('sessions').updateMany({}, tomorrow);
});
afterAll(async () => {
  await harness?.close();
  await pod?.close();
});

/** Returns all documents of the tenant, as text. */
async function stored(): Promise<string[]> {
  const { db } = harness.deps.database;
  const names = (await db.listCollections().toArray()).map(({ name }) => name);
  const found: string[] = [];
  for (const name of names.toSorted()) {
    const where: object = { accountId: { $in: [data.tenant.accountId, data.names['account']] } };
    const records = await db.collection(name).find(where).sort({ _id: 1 }).toArray();
    found.push(...records.map((record) => `${name} ${JSON.stringify(record)}`));
  }
  return found;
}

describe('If-Match (docs/reference/conventions.md)', () => {
  it('is documented for every update and deletion of a versioned record', () => {
    expect(operations.filter(({ method }) => method === 'put').length).toBeGreaterThan(10);
    expect(operations.filter(({ method }) => method === 'delete').length).toBeGreaterThan(10);
    const silent = operations.filter(
      ({ parameters, responses }) => !parameters.some(({ name }) => name === 'If-Match') || !('412' in responses),
    );
    expect(silent.map(({ operationId }) => operationId)).toEqual([]);
  });

  it.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    '%s applies only to the given version',
    async (_name, operation) => {
      const client = harness.as(operation.path.startsWith('/api/accounts/') ? operator : data.tenant.owner);
      const known = { queries: {}, bodies: {} };
      const { path, body } = sampleRequest(document, operation, { path: data, rest: data, only: '' }, known);
      const send = (version: string): Promise<ApiResponse> =>
        operation.method === 'delete'
          ? client.delete(path, { 'if-match': version }, body)
          : client.put(path, body, { 'if-match': version });
      expect(await send('W/"1"')).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
      const before = await stored();
      const other = await send('"999999"');
      expect(other).toMatchObject({ status: 412, body: { code: 'version_mismatch' } });
      expect(await stored()).toEqual(before);
      const current = other.headers.get('etag') ?? '';
      expect(await send(current)).toMatchObject({ status: 200 });
      // The version is outdated now, or its record no longer exists. A part of a record can be deleted, such as its MP4.
      const isRecordDeleted = operation.method === 'delete' && operation.path.endsWith('}');
      expect((await send(current)).status).toBe(isRecordDeleted ? 404 : 412);
    },
  );
});
