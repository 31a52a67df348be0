import { createHash, randomBytes } from 'node:crypto';
import {
  authorizeVideo,
  type Bus,
  findDevice,
  fleetChanged,
  type KnownVideoCaller,
  keyRevoked,
  publish,
  type SessionCredentials,
  serve,
  serveUseCase,
  type VideoAccess,
  verifyKey,
  verifySession,
} from '@fleet/bus';
import { AppError, isIpAllowed } from '@fleet/service-kit';

/** An API key as platform-api knows it. */
interface FakeKey {
  readonly keyId: number;
  readonly accountId: number;
  readonly scopes: readonly string[];
  ipAllowlist: readonly string[];
}

/** A user with a session, and the rights on the devices that the user may see. */
export interface FakeUser {
  readonly caller: Extract<KnownVideoCaller, { kind: 'user' }>;
  readonly headers: Record<string, string>;
  readonly rights: Map<string, VideoAccess['rights']>;
  isValid: boolean;
  readonly role: string;
}

export const allRights = { live: true, history: true, command: true };
export const noRights = { live: false, history: false, command: false };

const defaultScopes = ['read', 'write', 'command', 'video'];
const hash = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Replies for platform-api about keys, users, share links and devices, which tests change. */
export class FakePlatform {
  readonly #bus: Bus;
  readonly #keys = new Map<string, FakeKey>();
  readonly #users = new Map<string, FakeUser>();
  readonly #accounts = new Map<string, number>();
  /** Devices of live share links with the permission for video, by the link's id. */
  readonly links = new Map<number, string>();
  /** Cameras of vehicles, by the device's number. */
  readonly cameras = new Map<string, VideoAccess['channels']>();
  /** Limits of accounts, by id. */
  readonly quotas = new Map<number, { maxStreams: number }>();
  readonly #holds = new Map<string, { isRequested: boolean; readonly released: Promise<void> }>();
  #servers: { stop(): Promise<void> }[] = [];
  #lastId = 0;
  /** Number of verifications of each key, by its hash. */
  readonly verified: string[] = [];
  /** Callers whose access was requested. */
  readonly authorized: KnownVideoCaller[] = [];

  private constructor(bus: Bus) {
    this.#bus = bus;
  }

  static async start(bus: Bus): Promise<FakePlatform> {
    const platform = new FakePlatform(bus);
    await platform.serve();
    return platform;
  }

  async serve(): Promise<void> {
    const options = {
      queue: 'platform-api',
      onError: (error: unknown) => {
        throw error;
      },
    };
    this.#servers = [
      serve(this.#bus, verifyKey, options, async ({ keySha256 }) => {
        this.verified.push(keySha256);
        const key = this.#keys.get(keySha256);
        if (key === undefined) return { valid: false as const };
        return { valid: true as const, ...key, scopes: [...key.scopes], ipAllowlist: [...key.ipAllowlist] };
      }),
      serve(this.#bus, findDevice, options, async ({ imei }) => ({
        known: this.#accounts.has(imei),
        accountId: this.#accounts.get(imei) ?? null,
        cameraUtcOffset: '+08:00',
        ...this.quotas.get(this.#accounts.get(imei) ?? 0),
      })),
      serveUseCase(this.#bus, verifySession, options, async (credentials) => this.#verifySession(credentials)),
      serveUseCase(this.#bus, authorizeVideo, options, async (request) => {
        this.authorized.push(request.caller);
        await this.#waitForRelease(request.imei);
        const access = this.#authorize(request.caller, request.imei, request.address ?? '');
        return { ...access, channels: this.cameras.get(request.imei ?? '') ?? access.channels };
      }),
    ];
    await this.#bus.nc.flush();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()));
    this.#servers = [];
  }

  /** Creates a valid key; by default of account 7, with all scopes, from every address. */
  newKey({ accountId = 7, scopes = defaultScopes, ipAllowlist = [] }: Partial<FakeKey> = {}): string {
    const key = `fk_${randomBytes(32).toString('base64url')}`;
    this.#keys.set(hash(key), { keyId: this.#nextId(), accountId, scopes, ipAllowlist });
    return key;
  }

  keyIdOf(key: string): number {
    return this.#keys.get(hash(key))?.keyId ?? 0;
  }

  /** Revokes a key without an event. */
  removeKey(key: string): void {
    this.#keys.delete(hash(key));
  }

  revokeKey(key: string): void {
    const keyId = this.keyIdOf(key);
    this.removeKey(key);
    this.publishRevoked(key, keyId);
  }

  publishRevoked(key: string, keyId = this.keyIdOf(key)): void {
    publish(this.#bus, keyRevoked, { keySha256: hash(key), keyId });
  }

  /** Changes the addresses of a key without an event. */
  setAddresses(key: string, ipAllowlist: readonly string[]): void {
    const known = this.#keys.get(hash(key));
    if (known !== undefined) known.ipAllowlist = ipAllowlist;
  }

  countVerifications(key: string): number {
    return this.verified.filter((keySha256) => keySha256 === hash(key)).length;
  }

  /** Creates a user with a session, and both headers. */
  newUser(accountId = 7, more: { scopes?: readonly string[]; role?: string } = {}): FakeUser {
    const { role = 'viewer', ...keyOptions } = more;
    const key = this.newKey({ accountId, ...keyOptions });
    const token = `token-${randomBytes(16).toString('hex')}`;
    const caller = {
      kind: 'user' as const,
      accountId,
      userId: this.#nextId(),
      sessionId: this.#nextId(),
      mintedByKeyId: null,
      keyId: this.keyIdOf(key),
    };
    const headers = { 'x-api-key': key, authorization: `Bearer ${token}` };
    const user: FakeUser = { caller, headers, rights: new Map(), isValid: true, role };
    this.#users.set(headers.authorization, user);
    return user;
  }

  /** Moves a device to an account, or out of all. */
  moveDevice(imei: string, accountId: number | null): void {
    const before = this.#accounts.get(imei);
    if (accountId === null) this.#accounts.delete(imei);
    else this.#accounts.set(imei, accountId);
    for (const each of new Set([before, accountId]))
      if (typeof each === 'number') publish(this.#bus, fleetChanged, { accountId: each, kind: 'vehicles' });
  }

  /** Delays the replies about the access to a device until the returned function is called. */
  holdDevice(imei: string): { readonly isRequested: () => boolean; readonly release: () => void } {
    let resolveReleased = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      resolveReleased = resolve;
    });
    const hold = { isRequested: false, released };
    this.#holds.set(imei, hold);
    return {
      isRequested: () => hold.isRequested,
      release: () => {
        this.#holds.delete(imei);
        resolveReleased();
      },
    };
  }

  async #waitForRelease(imei: string | undefined): Promise<void> {
    const hold = this.#holds.get(imei ?? '');
    if (hold === undefined) return;
    hold.isRequested = true;
    await hold.released;
  }

  #verifySession({ keySha256, authorization }: SessionCredentials) {
    const key = this.#keys.get(keySha256);
    if (key === undefined) throw new AppError('api_key_invalid', 'The API key is not valid.');
    const user = this.#users.get(authorization);
    if (user?.isValid !== true) throw new AppError('token_invalid', 'The token is not valid.');
    if (user.caller.accountId !== key.accountId) throw new AppError('key_user_mismatch', 'Different accounts.');
    return { caller: { ...user.caller, keyId: key.keyId }, scopes: [...key.scopes] };
  }

  #authorize(caller: KnownVideoCaller, imei: string | undefined, address: string): VideoAccess {
    if (caller.kind === 'link') return this.#authorizeGuest(caller.linkId);
    const key = [...this.#keys.values()].find(({ keyId }) => keyId === caller.keyId);
    if (key === undefined) throw new AppError('api_key_invalid', 'The API key is not valid.');
    if (!isIpAllowed(key.ipAllowlist, address)) throw new AppError('permission_denied', 'Not from this address.');
    const owner = imei === undefined ? undefined : this.#accounts.get(imei);
    const found = { ...noVehicle(caller.accountId), imei: imei ?? null, vehicleAccountId: owner ?? null };
    if (caller.kind === 'key') {
      if (owner !== undefined && owner !== caller.accountId) throw hidden();
      return { ...found, rights: allRights };
    }
    const user = [...this.#users.values()].find((each) => each.caller.userId === caller.userId);
    if (user?.isValid !== true) throw new AppError('token_invalid', 'The token is no longer valid.');
    const rights = imei === undefined ? noRights : user.rights.get(imei);
    if (rights === undefined) throw hidden();
    return { ...found, role: user.role, rights };
  }

  #authorizeGuest(linkId: number): VideoAccess {
    const imei = this.links.get(linkId);
    if (imei === undefined) throw new AppError('share_link_revoked', 'The link has been revoked.');
    const rights = { ...noRights, live: true };
    return { ...noVehicle(7), imei, vehicleId: 1, vehicleAccountId: 7, rights };
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

const hidden = (): AppError => new AppError('vehicle_not_found', 'There is no such device.');

const noVehicle = (accountId: number) => ({
  accountId,
  role: null,
  vehicleId: null,
  vehicleAccountId: null,
  channels: [],
  expiresAtMs: null,
});
