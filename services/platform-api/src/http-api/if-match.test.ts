import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { standInForDispatcher } from '../testing/dispatcher-stub.ts';
import { type Operation, operationsOf, readDocument, resolved } from '../testing/document.ts';
import { type MediaPod, mediaPodId, openMediaPod } from '../testing/media-pod.ts';
import { type Answer, PlatformWorld, type TestUser } from '../testing/platform-world.ts';
import { sampleOf } from '../testing/samples.ts';
import { makeTenantData, type TenantData } from '../testing/tenant-data.ts';

// The records of a whole tenant, on a machine that may be busy.
jest.setTimeout(120_000);

const document = readDocument();

/** What answers a record that it does not write: the end of a log-in's second factor shows the user. */
const readOnlyOperations = new Set(['endTwoFactor']);

function isVersioned({ method, operationId, responses }: Operation): boolean {
  if ((method !== 'put' && method !== 'delete') || readOnlyOperations.has(operationId)) return false;
  const response = resolved(document, responses['200']?.content?.['application/json']?.schema ?? {});
  const record = resolved(document, response.properties?.['data'] ?? {});
  return record.properties?.['version'] !== undefined;
}

/** Changes first, and what others hang on last. */
const last = ['deleteVehicle', 'deleteUser', 'deleteAccount'];
const order = ({ method, operationId }: Operation): number =>
  method === 'put' ? 0 : last.includes(operationId) ? 2 + last.indexOf(operationId) : 1;

const operations = operationsOf(document)
  .filter(isVersioned)
  .toSorted((a, b) => order(a) - order(b));

let harness: PlatformWorld;
let data: TenantData;
let operator: TestUser;
let pod: MediaPod;
beforeAll(async () => {
  harness = await PlatformWorld.open();
  standInForDispatcher(harness.bus);
  pod = await openMediaPod(harness.bus, mediaPodId);
  data = await makeTenantData(harness, harness.ours, 'MARK');
  operator = await harness.user('superadmin');
  // These are there from the first time on that they are looked at.
  for (const path of ['/api/user-preferences/me', '/api/global-config']) await harness.as(data.tenant.owner).get(path);
  // A use that is noted in mid-test is no change by what is asked for.
  const tomorrow = { $set: { lastUsedAt: new Date(Date.now() + 86_400_000) } };
  await harness.deps.database.db.collection('sessions').updateMany({}, tomorrow);
});
afterAll(async () => {
  await harness?.close();
  await pod?.close();
});

/** All that the tenant has, as text. */
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
  it('is documented for every change and removal of a record that has versions', () => {
    expect(operations.filter(({ method }) => method === 'put').length).toBeGreaterThan(10);
    expect(operations.filter(({ method }) => method === 'delete').length).toBeGreaterThan(10);
    const silent = operations.filter(
      ({ parameters, responses }) => !parameters.some(({ name }) => name === 'If-Match') || !('412' in responses),
    );
    expect(silent.map(({ operationId }) => operationId)).toEqual([]);
  });

  it.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    '%s is done to the version that is named alone',
    async (_name, operation) => {
      const client = harness.as(operation.path.startsWith('/api/accounts/') ? operator : data.tenant.owner);
      const known = { queries: {}, bodies: {} };
      const { path, body } = sampleOf(document, operation, { path: data, rest: data, only: '' }, known);
      const send = (version: string): Promise<Answer> =>
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
      // It is an old one by now, or that of a record that is gone.
      expect((await send(current)).status).toBe(operation.method === 'put' ? 412 : 404);
    },
  );
});
