import { createHash, randomBytes } from 'node:crypto';
import {
  AppError,
  createApp,
  createLogger,
  listen,
  pageResponse,
  pageSchema,
  paginationQuery,
  parseIfMatch,
  parsePagination,
  parseSort,
  Reply,
  singleSchema,
  sortParameter,
} from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Type } from 'typebox';
import { setCaller } from '../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../access/platform-route.ts';
import { idParams, nullable, recordProperties, toRecordResponse } from '../platform/schemas.ts';
import { type AccountRecord, AccountRepository } from '../store/account-repository.ts';
import { IdempotencyKeyStore } from '../store/idempotency.ts';
import { RecordStore } from '../store/record-store.ts';
import { createPlatformErrorHandlers } from './errors.ts';
import { createPlatformRouter } from './platform-router.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

/** A sample domain: the router, not the domains, implements the conventions of docs/reference/conventions.md. */
interface Thing extends AccountRecord {
  readonly name: string;
  readonly note: string | null;
  readonly parentGroup: number | null;
}

const log = createLogger('test', 'silent');
const scope = { accountId: 1 };
let database: Database;
let things: AccountRepository<Thing>;
let server: Awaited<ReturnType<typeof listen>>;
let base: string;
/** Number of calls of the creating handler. */
let created = 0;
let failNext: 'none' | 'internal' | 'refused' | 'limited' = 'none';
/** Resumes the handler that waits. */
let release: () => void = () => undefined;
let isWaiting = false;

const thing = Type.Object({
  ...recordProperties,
  name: Type.String(),
  note: nullable(Type.String()),
  secret: nullable(Type.String()),
});
const toThingResponse = (one: Thing) => ({ ...toRecordResponse(one), name: one.name, note: one.note });
const notFound = () => new AppError('not_found', 'The thing does not exist.');
const fields = {
  name: Type.String({ minLength: 1, maxLength: 10 }),
  note: Type.Optional(nullable(Type.String())),
  parent_group: Type.Optional(nullable(Type.Integer({ alias: 'parentGroup' }))),
  sizes: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }))),
  state: Type.Optional(Type.String({ readOnly: true })),
};

const routes = (): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/things',
    operationId: 'createThing',
    summary: 's',
    isIdempotent: true,
    body: Type.Object(fields),
    response: singleSchema(thing),
    handle: async ({ body }) => {
      created += 1;
      const failure = failNext;
      failNext = 'none';
      if (failure === 'internal') throw new Error('the database is on fire');
      if (failure === 'limited') throw new AppError('rate_limited', 'Later.', { headers: { 'Retry-After': '1' } });
      if (failure === 'refused') throw new AppError('limit_reached', 'No more.');
      if (body.name === 'wait') await new Promise<void>((resolve) => ((release = resolve), (isWaiting = true)));
      const inserted = await things.insert(scope, { name: body.name, note: body.note ?? null, parentGroup: null });
      // Some databases cannot store nested lists and some field names.
      const odd = { path: [[22.5, 114]], attributes: { $set: 1, 'a.b': 2 } };
      const data = { ...toThingResponse(inserted), ...odd, secret: 'shown once', parts: [{ key: 'fk_1' }] };
      return new Reply(201, { data }, { Location: `/api/things/${inserted._id}` });
    },
  }),
  platformRoute({
    method: 'get',
    path: '/things',
    operationId: 'listThings',
    summary: 's',
    query: Type.Object({ ...paginationQuery, sort: sortParameter(['id', 'name']) }),
    response: pageSchema(thing),
    handle: async ({ query }) => {
      const paging = parsePagination(query);
      const { items, total } = await things.list(scope, { sorting: parseSort(query.sort), paging });
      return pageResponse({ items: items.map(toThingResponse), total }, paging);
    },
  }),
  platformRoute({
    method: 'put',
    path: '/things/:id',
    operationId: 'updateThing',
    summary: 's',
    params: idParams,
    body: Type.Object({ name: Type.Optional(fields.name), note: fields.note }),
    response: singleSchema(thing),
    handle: async ({ params, body, context }) => {
      const changed = await things.update(scope, params.id, body, parseIfMatch(context));
      if (changed === null) throw notFound();
      return { data: toThingResponse(changed) };
    },
  }),
];

beforeAll(async () => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/platform_conventions_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'test' });
  things = new AccountRepository<Thing>(new RecordStore(database), 'things');
  const app = createApp();
  const admit = async (_route: PlatformRoute, context: Parameters<typeof setCaller>[0]): Promise<void> => {
    const userId = Number(context.request.get('x-user') ?? '1');
    const accountId = Number(context.request.get('x-account-id') ?? scope.accountId);
    const caller = {
      accountId,
      userId,
      role: 'owner',
      canViewVideo: true,
      sessionId: 1,
      mintedByKeyId: null,
      keyId: 1,
      scopes: [],
    } as const;
    setCaller(context, caller);
  };
  app.use(
    '/api',
    createPlatformRouter({ log, routes: routes(), idempotency: new IdempotencyKeyStore(database), authorize: admit }),
  );
  app.use(...createPlatformErrorHandlers(log));
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  base = `http://127.0.0.1:${server.port}/api`;
});
afterAll(async () => {
  await server.close();
  await database.db.dropDatabase();
  await database.close();
});

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const init = body === undefined ? {} : { body: text };
  const response = await fetch(base + path, { method, headers, ...init });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Record<string, unknown>,
  };
}
const post = (body: unknown, headers?: Record<string, string>) => send('POST', '/things', body, headers);
const getData = ({ body }: { body: Record<string, unknown> }) => body['data'] as { id: number; version: number };
const newKey = (): string => randomBytes(8).toString('hex');

describe('responses', () => {
  it('returns 201 with Location, the version as ETag and no permission to cache, and echoes or generates the request id', async () => {
    const inserted = await post({ name: 'one' }, { 'x-request-id': 'abc.1-2_3' });
    expect(inserted.status).toBe(201);
    expect(inserted.headers.get('location')).toBe(`/api/things/${getData(inserted).id}`);
    expect(inserted.headers.get('etag')).toBe('"1"');
    // Some fields change without a new version.
    expect(inserted.headers.get('cache-control')).toBe('no-store');
    expect(inserted.headers.get('x-request-id')).toBe('abc.1-2_3');
    expect(inserted.body).not.toHaveProperty('meta');
    for (const id of ['not an id', 'x'.repeat(65)]) {
      const other = await post({ name: 'one' }, { 'x-request-id': id });
      expect(other.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    }
  });

  it('returns errors with status, sentence, code, request id and every fault', async () => {
    const response = await post({ name: '', sizes: [1, 0, 'x'], note: 7 }, { 'x-request-id': 'r1' });
    expect(response.body).toEqual({
      status: 400,
      code: 'validation_failed',
      error: expect.stringMatching(/^The field \w+ .+\.$/),
      request_id: 'r1',
      details: expect.arrayContaining([
        { path: '/name', message: expect.any(String) },
        { path: '/sizes/1', message: expect.any(String) },
        { path: '/sizes/2', message: expect.any(String) },
        { path: '/note', message: expect.any(String) },
      ]),
    });
    const many = await post({ name: 'x', sizes: Array.from({ length: 50 }, () => 0) });
    expect(many.body['details']).toHaveLength(20);
    expect((await post({})).body).toMatchObject({ details: [{ path: '/name', message: 'is missing' }] });
  });

  it('hides the details of internal errors', async () => {
    failNext = 'internal';
    const response = await post({ name: 'x' });
    expect(response.body).toEqual({
      status: 500,
      code: 'internal',
      error: 'An unexpected error occurred.',
      request_id: expect.any(String),
    });
  });
});

describe('bodies', () => {
  it('accepts bodies wrapped in data', async () => {
    expect((await post({ data: { name: 'wrapped' } })).body).toMatchObject({ data: { name: 'wrapped' } });
    expect((await post({ data: { name: 'x' }, name: 'y' })).body).toMatchObject({
      data: { name: 'y' },
      meta: { ignored_fields: ['/data'] },
    });
  });

  it('lists unknown and read-only fields, or rejects them with X-Strict-Body', async () => {
    const body = { name: 'x', 'a/b~c': 1, state: 'moving' };
    const ignored = await post(body);
    expect(ignored.status).toBe(201);
    expect(ignored.body).toMatchObject({ meta: { ignored_fields: expect.arrayContaining(['/a~1b~0c', '/state']) } });
    expect((await post(body, { 'x-strict-body': 'true' })).body).toMatchObject({ status: 400, code: 'unknown_field' });
    expect((await post({ name: 'x' }, { 'x-strict-body': 'true' })).status).toBe(201);
  });

  it('returns 413 for bodies that are too large, and 400 for invalid JSON', async () => {
    expect((await post({ name: 'x', note: 'x'.repeat(1024 * 1024) })).body).toMatchObject({
      status: 413,
      code: 'body_too_large',
    });
    expect((await post('{"name":')).body).toMatchObject({ status: 400, code: 'malformed_json' });
    for (const body of ['[]', '"x"', '7', 'null']) expect((await post(body)).status).toBe(400);
  });
});

describe('If-Match', () => {
  it('returns 412 for an old version; without it the last write of a field wins', async () => {
    const { id } = getData(await post({ name: 'x' }));
    const put = (body: object, version?: string) =>
      send('PUT', `/things/${id}`, body, version === undefined ? {} : { 'if-match': version });
    const second = await put({ name: 'y' }, '"1"');
    expect([second.status, second.headers.get('etag')]).toEqual([200, '"2"']);
    const stale = await put({ name: 'z' }, '"1"');
    expect(stale.body).toMatchObject({ status: 412, code: 'version_mismatch' });
    expect(stale.headers.get('etag')).toBe('"2"');
    expect((await put({ note: 'n' })).body).toMatchObject({ data: { name: 'y', note: 'n', version: 3 } });
    expect((await put({ note: null }, '*')).body).toMatchObject({ data: { name: 'y', note: null } });
    expect((await put({ note: null }, 'W/"1"')).status).toBe(400);
  });

  it('returns 404 for an invalid id in the path', async () => {
    for (const id of ['0', 'x', '-1', '1.5', '1e3', '9'.repeat(30), '%00'])
      expect((await send('PUT', `/things/${id}`, { name: 'x' })).body).toMatchObject({
        status: 404,
        code: 'not_found',
      });
  });
});

describe('lists', () => {
  it('pages by limit and offset or by page, and rejects both', async () => {
    for (let no = 0; no < 3; no += 1) await post({ name: 'listed' });
    const all = await send('GET', '/things?limit=1000');
    const total = (all.body['data'] as unknown[]).length;
    expect(all.body).toMatchObject({ meta: { pagination: { page: 1, pageSize: 200, pageCount: 1, total } } });
    const second = await send('GET', '/things?limit=2&page=2');
    expect(second.body).toMatchObject({
      meta: { pagination: { page: 2, pageSize: 2, pageCount: Math.ceil(total / 2) } },
    });
    expect((await send('GET', '/things?limit=2&offset=2')).body['data']).toEqual(second.body['data']);
    expect((await send('GET', '/things?offset=100000')).body).toMatchObject({ data: [] });
    expect((await send('GET', '/things?offset=1&page=1')).body).toMatchObject({ code: 'conflicting_parameters' });
    for (const query of ['limit=0', 'limit=-1', 'limit=x', 'offset=-1', 'page=0', 'sort=secret', 'limit=1&limit=2'])
      expect([query, (await send('GET', `/things?${query}`)).status]).toEqual([query, 400]);
  });
});

describe('Idempotency-Key', () => {
  it('replays the first response without secrets, and creates nothing twice', async () => {
    const headers = { 'idempotency-key': newKey() };
    const first = await post({ name: 'once' }, headers);
    const before = created;
    const again = await post({ name: 'once' }, headers);
    expect(created).toBe(before);
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    expect(again.body).toEqual({ data: { ...getData(first), secret: null, parts: [{ key: null }] } });
  });

  it('replays a response that the previous release stored', async () => {
    interface StoredEntry {
      readonly _id: string;
      readonly answer: unknown;
    }
    const stored = database.collection<StoredEntry>('idempotency_keys');
    const known = new Set((await stored.find({}).toArray()).map(({ _id }) => _id));
    const headers = { 'idempotency-key': newKey() };
    const first = await post({ name: 'older' }, headers);
    const entry = (await stored.find({}).toArray()).find(({ _id }) => !known.has(_id));
    if (entry === undefined) throw new Error('no entry is stored');
    // The previous release stored an object instead of text. Databases that reject nested lists have no such entries
    // with nested lists.
    const response = { ...(JSON.parse(String(entry.answer)) as object), body: { data: { id: getData(first).id } } };
    await stored.updateOne({ _id: entry._id }, { $set: { answer: response } });
    const again = await post({ name: 'older' }, headers);
    expect(again.status).toBe(201);
    expect(getData(again).id).toBe(getData(first).id);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it('stores no hash from which a password in the body could be guessed, and accepts hashes of the previous release', async () => {
    interface Kept {
      readonly _id: string;
      readonly bodySha256: string;
    }
    const stored = database.collection<Kept>('idempotency_keys');
    const known = new Set((await stored.find({}).toArray()).map(({ _id }) => _id));
    const [body, headers] = [{ name: 'horse' }, { 'idempotency-key': newKey() }];
    await post(body, headers);
    await post(body, { 'idempotency-key': newKey() });
    const entries = (await stored.find({}).toArray()).filter(({ _id }) => !known.has(_id));
    const ofBodyAlone = createHash('sha256').update(JSON.stringify(body)).digest('hex');
    expect(new Set([ofBodyAlone, ...entries.map(({ bodySha256 }) => bodySha256)]).size).toBe(3);
    const $set = { bodySha256: ofBodyAlone };
    for (const { _id } of entries) await stored.updateOne({ _id }, { $set });
    expect((await post(body, headers)).headers.get('idempotent-replayed')).toBe('true');
  });

  it('returns 422 for another body, and separates keys by user and account', async () => {
    const key = newKey();
    const first = await post({ name: 'a' }, { 'idempotency-key': key });
    expect((await post({ name: 'b' }, { 'idempotency-key': key })).body).toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    });
    const other = await post({ name: 'b' }, { 'idempotency-key': key, 'x-user': '2' });
    expect(other.status).toBe(201);
    expect(getData(other).id).not.toBe(getData(first).id);
    const elsewhere = await post({ name: 'b' }, { 'idempotency-key': key, 'x-account-id': '7' });
    expect(elsewhere.status).toBe(201);
  });

  it('makes a concurrent retry wait for the first request', async () => {
    const headers = { 'idempotency-key': newKey() };
    isWaiting = false;
    const before = created;
    const first = post({ name: 'wait' }, headers);
    await waitFor(() => isWaiting);
    const second = post({ name: 'wait' }, headers);
    await waitFor(async () => (await database.collection('idempotency_keys').countDocuments({ answer: null })) === 1);
    release();
    const [one, two] = await Promise.all([first, second]);
    expect(created).toBe(before + 1);
    expect(getData(two).id).toBe(getData(one).id);
    expect(two.headers.get('idempotent-replayed')).toBe('true');
  });

  it('returns 409 for a retry after waiting ten seconds', async () => {
    const headers = { 'idempotency-key': newKey() };
    isWaiting = false;
    const first = post({ name: 'wait' }, headers);
    await waitFor(() => isWaiting);
    const startedAt = performance.now();
    expect((await post({ name: 'wait' }, headers)).body).toMatchObject({ status: 409, code: 'state_conflict' });
    expect(performance.now() - startedAt).toBeGreaterThan(9_900);
    release();
    expect((await first).status).toBe(201);
  });

  it('stores rejections, and no failures of the service', async () => {
    const headers = { 'idempotency-key': newKey() };
    failNext = 'internal';
    expect((await post({ name: 'x' }, headers)).status).toBe(500);
    // A client that waits as long as Retry-After says is served.
    failNext = 'limited';
    expect((await post({ name: 'x' }, headers)).status).toBe(429);
    failNext = 'refused';
    expect((await post({ name: 'x' }, headers)).body).toMatchObject({ status: 409, code: 'limit_reached' });
    const again = await post({ name: 'x' }, headers);
    expect(again.body).toMatchObject({ status: 409, code: 'limit_reached', error: 'No more.' });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it.each([
    ['an invalid field', { name: '' }],
    ['a missing field', {}],
    ['a body that is not an object', [1]],
    ['a body that is not JSON', '{"name":'],
    ['no body', ''],
  ])('stores the 400 of %s', async (_what, body) => {
    const headers = { 'idempotency-key': newKey() };
    const first = await post(body, headers);
    expect(first.status).toBe(400);
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const again = await post(body, headers);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual({ ...first.body, request_id: expect.any(String) });
    const before = created;
    expect((await post({ name: 'mended' }, headers)).body).toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    });
    expect(created).toBe(before);
    // A key without a stored response starts a new request.
    expect((await post({ name: 'mended' }, { 'idempotency-key': newKey() })).status).toBe(201);
  });

  it("does not store rejections that do not depend on the body's content: size and encoding", async () => {
    const headers = { 'idempotency-key': newKey() };
    expect((await post({ name: 'x', note: 'x'.repeat(1024 * 1024) }, headers)).status).toBe(413);
    expect((await post({ name: 'x' }, { ...headers, 'content-encoding': 'gzip' })).status).toBe(415);
    const served = await post({ name: 'x' }, headers);
    expect(served.status).toBe(201);
    expect(served.headers.get('idempotent-replayed')).toBeNull();
  });

  it('expires after a day, and when its request crashed', async () => {
    const headers = { 'idempotency-key': newKey() };
    const first = await post({ name: 'x' }, headers);
    const keys = database.collection<{ _id: string }>('idempotency_keys');
    await keys.updateMany({}, { $set: { expiresAt: new Date(Date.now() - 1) } });
    const second = await post({ name: 'x' }, headers);
    expect(getData(second).id).not.toBe(getData(first).id);
    await keys.updateMany({}, { $set: { answer: null, startedAt: new Date(Date.now() - 61_000) } });
    expect(getData(await post({ name: 'x' }, headers)).id).not.toBe(getData(second).id);
  });

  it('requires printable characters', async () => {
    expect((await post({ name: 'x' }, { 'idempotency-key': 'ä' })).status).toBe(400);
    expect((await post({ name: 'x' }, { 'idempotency-key': 'x'.repeat(256) })).status).toBe(400);
  });
});
