import { randomBytes } from 'node:crypto';
import type { Bus } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { ServerProcess, testEnv, waitFor } from '@fleet/testing';
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

/**
 * Redis keys contain ids, which start at 1 in each database. Test files that run concurrently therefore use separate
 * Redis databases.
 */
function ownRedis(): string {
  const url = new URL(testEnv('REDIS_URL'));
  url.pathname = `/${Number(process.env['JEST_WORKER_ID'] ?? 1) % 16}`;
  return url.href;
}

const silent = createLogger('platform-api-test', process.env['TEST_LOG_LEVEL'] ?? 'silent');

/** Password of every user of a harness. */
export const testPassword = 'correct horse battery';

/** A record in a response. */
export interface Data {
  readonly id: number;
  readonly version: number;
  readonly [field: string]: unknown;
}

/** A response. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed JSON, or text. */
  readonly body: unknown;
  /** `data` of the body if it is one record, else empty. */
  readonly data: Data;
  /** `data` of the body if it is a list, else empty. */
  readonly items: readonly Data[];
}

/**
 * Sends HTTP requests as one user. Paths start at the root (`/api/drivers`), bodies are JSON, and headers are added to
 * the two of the caller.
 */
export interface Client {
  get(path: string, headers?: Record<string, string>): Promise<ApiResponse>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  put(path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
  delete(path: string, headers?: Record<string, string>, body?: unknown): Promise<ApiResponse>;
}

/** A user of the harness with its credentials. */
export interface TestUser {
  readonly id: number;
  readonly accountId: number;
  readonly role: Role;
  readonly email: string;
  /** Tests that invalidate the token may replace it. */
  token: string;
  readonly refreshToken: string;
  readonly sessionId: number;
  /** API key of the account, with all scopes. */
  readonly apiKey: string;
}

/** An account with its owner. */
export interface Tenant {
  readonly accountId: number;
  readonly owner: TestUser;
  readonly apiKey: string;
}

/**
 * A platform-api in this process, with a database and a broker of its own, rate limits that no test reaches, two
 * tenants, and users of any role. It runs no jobs: `await harness.as(await
 * harness.user('viewer')).get('/api/drivers')`.
 */
export class PlatformHarness {
  readonly service: PlatformApi;
  readonly deps: Deps;
  readonly ours: Tenant;
  readonly theirs: Tenant;
  readonly base: string;
  /** Base of health and metrics. */
  readonly adminBase: string;
  /** Mails and SMS that would have been sent, in order. */
  readonly sent: readonly Message[];
  /** The broker, which tests may stop and restart. */
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
    this.adminBase = `http://127.0.0.1:${service.adminPort}`;
    this.nats = nats;
  }

  /** Starts the service. With `hasProviders`, messages are sent as the settings say, and not recorded in `sent`. */
  static async open(
    env: Record<string, string> = {},
    { hasProviders = false }: { readonly hasProviders?: boolean } = {},
  ): Promise<PlatformHarness> {
    const nats = await (await ServerProcess.nats()).start();
    const database = new URL(testEnv('MONGODB_URL'));
    database.pathname = `/platform_harness_${randomBytes(6).toString('hex')}`;
    const limits = Object.fromEntries(limitNames.map((name) => [`RATE_LIMIT_${name}`, '1000000']));
    const urls = { NATS_URL: `nats://127.0.0.1:${nats.port}`, REDIS_URL: ownRedis() };
    // The role telemetry stores its offset in Redis, which the harnesses of a file share.
    const roles = { PLATFORM_ROLES: 'api,websocket' };
    const ports = { HTTP_PORT: '0', ADMIN_PORT: '0' };
    const config = loadConfig({ ...ports, MONGODB_URL: database.href, ...urls, ...roles, ...limits, ...env });
    const sent: Message[] = [];
    const messages = { send: async (message: Message) => void sent.push(message) };
    const overrides = hasProviders ? {} : { messages };
    const service = await create(config, { log: silent, ...overrides, runsJobs: false });
    const isReady = async () => (await fetch(`http://127.0.0.1:${service.adminPort}/readyz`)).status === 200;
    await waitFor(isReady);
    await waitFor(() => service.deps.redis.isReady);
    const [ours, theirs] = [await makeTenant(service.deps, 'Ours'), await makeTenant(service.deps, 'Theirs')];
    return new PlatformHarness(service, nats, { ours, theirs }, sent);
  }

  get records(): RecordStore {
    return this.deps.records;
  }

  get bus(): Bus {
    return this.deps.bus;
  }

  /** Creates another account with an owner. */
  tenant(name: string): Promise<Tenant> {
    return makeTenant(this.deps, name);
  }

  /** Creates a user of a tenant, by default `ours`. */
  async user(role: Role, tenant: Tenant = this.ours, more: Partial<User> = {}): Promise<TestUser> {
    const email = `${role}-${randomBytes(6).toString('hex')}@fleet.example`;
    passwordHash ??= hashPassword(testPassword);
    const fields = newUser({ name: role, email, role, passwordHash: await passwordHash, ...more });
    const user = await recordUser(this.records, tenant, fields);
    return logIn(this.deps, user, tenant.apiKey);
  }

  /** Returns a client with both headers of a user. */
  as(user: TestUser): Client {
    return this.with({ 'x-api-key': user.apiKey, authorization: `Bearer ${user.token}` });
  }

  /** Returns a client without credentials. */
  get anonymous(): Client {
    return this.with({});
  }

  /** Returns a client with these headers. Headers with the value '' are omitted. */
  with(headers: Record<string, string>): Client {
    const send =
      (method: string) =>
      (path: string, body?: unknown, more: Record<string, string> = {}): Promise<ApiResponse> =>
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

async function request(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string>,
): Promise<ApiResponse> {
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
