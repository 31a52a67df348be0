import { randomBytes } from 'node:crypto';
import type { Bus } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { ServerProcess, testEnv, waitFor } from '../../../../libs/service-kit/src/testing/server-process.ts';
import type { Role } from '../access/roles.ts';
import { loadConfig } from '../assembly/config.ts';
import { create, type PlatformApi } from '../assembly/service.ts';
import { ensureOwner } from '../domains/accounts/ensure-owner.ts';
import { createKey } from '../domains/api-keys/use-cases.ts';
import { openSession } from '../domains/sessions/use-cases.ts';
import { hashPassword } from '../domains/users/passwords.ts';
import { newUser } from '../domains/users/rules.ts';
import type { User } from '../domains/users/schema.ts';
import { recordUser } from '../domains/users/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import type { Message } from '../providers/message-sender.ts';
import type { RecordStore } from '../store/record-store.ts';

/** Redis keeps much by ids, and those begin again in each database: files that run at the same time have a database of Redis each. */
function ownRedis(): string {
  const url = new URL(testEnv('REDIS_URL'));
  url.pathname = `/${Number(process.env['JEST_WORKER_ID'] ?? 1) % 16}`;
  return url.href;
}

const silent = createLogger('platform-api-test', process.env['TEST_LOG_LEVEL'] ?? 'silent');

/** The password of every user of a test world. */
export const testPassword = 'correct horse battery';

/** A record as an answer shows it. */
export interface Data {
  readonly id: number;
  readonly version: number;
  readonly [field: string]: unknown;
}

/** What a request was answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or text. */
  readonly body: unknown;
  /** `data` of the body where that is one record; empty otherwise. */
  readonly data: Data;
  /** `data` of the body where that is a list; empty otherwise. */
  readonly items: readonly Data[];
}

/** Speaks HTTP as one user: paths from the root (`/api/drivers`), bodies as JSON, headers beside the two of the caller. */
export interface Client {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  delete(path: string, headers?: Record<string, string>, body?: unknown): Promise<Answer>;
}

/** A user of the test world with what it needs to call. */
export interface TestUser {
  readonly id: number;
  readonly accountId: number;
  readonly role: Role;
  readonly email: string;
  /** A new one may take its place where a test ends it. */
  token: string;
  readonly refreshToken: string;
  readonly sessionId: number;
  /** Of the account, with all scopes. */
  readonly apiKey: string;
}

/** An account with its owner. */
export interface Tenant {
  readonly accountId: number;
  readonly owner: TestUser;
  readonly apiKey: string;
}

/**
 * A platform-api in this process, with a database and a broker of its own and limits that no test reaches, two tenants, and users of any role. It sweeps nothing by itself:
 * `await world.as(await world.user('viewer')).get('/api/drivers')`.
 */
export class PlatformWorld {
  readonly service: PlatformApi;
  readonly deps: Deps;
  readonly ours: Tenant;
  readonly theirs: Tenant;
  readonly base: string;
  /** Mails and SMS that would have gone out, in their order. */
  readonly sent: readonly Message[];
  /** The broker, to be killed and started again. */
  readonly nats: ServerProcess;

  private constructor(
    service: PlatformApi,
    nats: ServerProcess,
    tenants: { ours: Tenant; theirs: Tenant },
    sent: readonly Message[],
  ) {
    this.sent = sent;
    this.service = service;
    this.deps = service.deps;
    this.ours = tenants.ours;
    this.theirs = tenants.theirs;
    this.base = `http://127.0.0.1:${service.httpPort}`;
    this.nats = nats;
  }

  /** `hasProviders`: messages go where the settings say, and not into `sent`. */
  static async open(
    env: Record<string, string> = {},
    { hasProviders = false }: { readonly hasProviders?: boolean } = {},
  ): Promise<PlatformWorld> {
    const nats = await (await ServerProcess.nats()).start();
    const database = new URL(testEnv('MONGODB_URL'));
    database.pathname = `/platform_world_${randomBytes(6).toString('hex')}`;
    const limits = Object.fromEntries(limitNames.map((name) => [`RATE_LIMIT_${name}`, '1000000']));
    const urls = { NATS_URL: `nats://127.0.0.1:${nats.port}`, REDIS_URL: ownRedis() };
    // Telemetry keeps its place in Redis, which the worlds of a file share.
    const roles = { PLATFORM_ROLES: 'api,websocket' };
    const config = loadConfig({ HTTP_PORT: '0', MONGODB_URL: database.href, ...urls, ...roles, ...limits, ...env });
    const sent: Message[] = [];
    const messages = { send: async (message: Message) => void sent.push(message) };
    const overrides = hasProviders ? {} : { messages };
    const service = await create(config, { log: silent, ...overrides, runsJobs: false });
    const isReady = async () => (await fetch(`http://127.0.0.1:${service.httpPort}/readyz`)).status === 200;
    await waitFor(isReady);
    await waitFor(() => service.deps.redis.isReady);
    const [ours, theirs] = [await makeTenant(service.deps, 'Ours'), await makeTenant(service.deps, 'Theirs')];
    return new PlatformWorld(service, nats, { ours, theirs }, sent);
  }

  get records(): RecordStore {
    return this.deps.records;
  }

  get bus(): Bus {
    return this.deps.bus;
  }

  /** A new account with an owner, beside the two that are there. */
  tenant(name: string): Promise<Tenant> {
    return makeTenant(this.deps, name);
  }

  /** A new user of a tenant, `ours` unless another is given. */
  async user(role: Role, tenant: Tenant = this.ours, more: Partial<User> = {}): Promise<TestUser> {
    const email = `${role}-${randomBytes(6).toString('hex')}@fleet.example`;
    passwordHash ??= hashPassword(testPassword);
    const fields = newUser({ name: role, email, role, passwordHash: await passwordHash, ...more });
    const user = await recordUser(this.records, tenant, fields);
    return logIn(this.deps, user, tenant.apiKey);
  }

  /** Calls with both headers of a user. */
  as(user: TestUser): Client {
    return this.with({ 'x-api-key': user.apiKey, authorization: `Bearer ${user.token}` });
  }

  /** Calls without credentials. */
  get anonymous(): Client {
    return this.with({});
  }

  /** Calls with these headers; one with the value '' is left out. */
  with(headers: Record<string, string>): Client {
    const send =
      (method: string) =>
      (path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> =>
        request(this.base + path, method, body, { ...headers, ...more });
    const [get, remove] = [send('GET'), send('DELETE')];
    return {
      get: (path, more) => get(path, undefined, more),
      post: send('POST'),
      put: send('PUT'),
      delete: (path, more, body) => remove(path, body, more),
    };
  }

  async close(): Promise<void> {
    await this.deps.database.db.dropDatabase();
    await this.service.stop();
    await this.nats.remove();
  }
}

const limitNames = [
  'PLATFORM_PER_MINUTE',
  'PLATFORM_BURST',
  'LOGIN_PER_MINUTE',
  'CODES_PER_HOUR',
  'GEOCODE_PER_MINUTE',
  'EXTRACTION_PER_MINUTE',
  'DEVICE_LOOKUP_PER_MINUTE',
  'USER_SEARCH_PER_MINUTE',
  'SHARE_LINK_PER_MINUTE',
  'PARTNER_PER_SECOND',
  'WEBHOOK_TEST_PER_MINUTE',
  'TEST_MAIL_PER_HOUR',
  'CAPTURE_PER_MINUTE',
  'COMMANDS_PER_MINUTE',
  'COMMANDS_BURST',
];

let passwordHash: Promise<string> | undefined;

async function makeTenant(deps: Deps, name: string): Promise<Tenant> {
  const { records } = deps;
  const email = `owner-${randomBytes(6).toString('hex')}@fleet.example`;
  const { user } = await ensureOwner(records, { email, password: testPassword, accountName: name });
  const apiKey = await createKey(records, { accountId: user.accountId, name: 'test' });
  return { accountId: user.accountId, owner: await logIn(deps, user, apiKey), apiKey };
}

async function logIn(deps: Deps, user: User, apiKey: string): Promise<TestUser> {
  const { _id: id, accountId, role, email } = user;
  const { session, refreshToken } = await openSession(deps.records, user, { ip: '127.0.0.1', userAgent: 'test' });
  const claims = { userId: id, accountId, role, sessionId: session._id, mintedByKeyId: null };
  const token = await deps.tokens.issue(claims);
  return { id, accountId, role, email: email ?? '', token, refreshToken, sessionId: session._id, apiKey };
}

async function request(url: string, method: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ''));
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...given },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const parsed = (isJson && text !== '' ? JSON.parse(text) : text) as unknown;
  const data = typeof parsed === 'object' && parsed !== null && 'data' in parsed ? parsed.data : undefined;
  return {
    status: response.status,
    headers: response.headers,
    body: parsed,
    data: (Array.isArray(data) ? {} : (data ?? {})) as Data,
    items: Array.isArray(data) ? (data as Data[]) : [],
  };
}
