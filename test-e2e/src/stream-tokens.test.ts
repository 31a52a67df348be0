import { type StreamGrant, StreamTokens } from '@fleet/service-kit/stream-tokens';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { findOpenStatus, type StreamField, streamFields } from './testing/open-stream.ts';
import { Person } from './testing/person.ts';
import type { PlatformRecord } from './testing/platform-client.ts';
import { readProductSecrets } from './testing/product-secrets.ts';

jest.setTimeout(120_000);

const lifetimeSeconds = 600;
const now = (): Date => new Date();
/** The expiry is past, beyond the tolerance for clocks that differ. */
const longAgo = (): Date => new Date(Date.now() - 2 * lifetimeSeconds * 1_000);

let harness: DedicatedHarness;
let dashcams: Dashcams;
let owner: Person;
let tokens: StreamTokens;
let dashcam: Dashcam;
let stream: PlatformRecord;
beforeAll(async () => {
  harness = await leaseHarness({ DEVICE_API_AUTH: 'key' });
  dashcams = await Dashcams.open(harness);
  owner = await Person.logInOwner(harness);
  tokens = new StreamTokens({ secrets: readProductSecrets(harness).streamTokenSecret, lifetimeSeconds });
  dashcam = await dashcams.create();
  stream = await start(dashcam);
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

const start = ({ vehicleId }: Dashcam, person = owner): Promise<PlatformRecord> =>
  person.request('POST', `/vehicles/start-dashcam-stream/${vehicleId}`, { wake: false });

const readToken = (url: unknown): string => new URL(String(url)).searchParams.get('token') ?? '';

/** Opens an address with another token. */
function openWith(field: StreamField, token: string): Promise<number> {
  const url = new URL(String(stream[field]));
  url.searchParams.set('token', token);
  return findOpenStatus(field, url.href);
}

/** Returns what the token of an address grants, with changes. */
const grantOf = async (field: StreamField, changes: Partial<StreamGrant> = {}): Promise<StreamGrant> => ({
  ...(await tokens.verify(readToken(stream[field]))),
  ...changes,
});

/** Changes one character in the middle of the signature. */
const forge = (token: string): string => token.replace(/.(?=.{10}$)/, (character) => (character === 'A' ? 'B' : 'A'));

describe.each(streamFields)('the token of %s', (field) => {
  it('opens its stream', async () => {
    expect(await findOpenStatus(field, String(stream[field]))).toBe(200);
  });

  it('is 401 if it is forged, expired, malformed or signed with another secret', async () => {
    const grant = await grantOf(field);
    const strange = new StreamTokens({ secrets: 'a secret of somebody else', lifetimeSeconds });
    expect(await openWith(field, forge(readToken(stream[field])))).toBe(401);
    expect(await openWith(field, tokens.issue(grant, longAgo()).token)).toBe(401);
    expect(await openWith(field, 'no-token')).toBe(401);
    expect(await openWith(field, '')).toBe(401);
    expect(await openWith(field, strange.issue(grant, now()).token)).toBe(401);
  });

  it('is 401 if it is an access token of a user, or the token of a share link', async () => {
    const view = await dashcams.openLink(dashcam.vehicleId, ['live_video']);
    const accessToken = owner.headers['authorization']?.replace('Bearer ', '') ?? '';
    expect(await openWith(field, accessToken)).toBe(401);
    expect(await openWith(field, readToken(view['stream_url']))).toBe(401);
  });

  it('is 403 if it is for another channel, device or kind', async () => {
    const other = await dashcams.create();
    const { imei } = await tokens.verify(readToken((await start(other))['stream_url']));
    const others: Partial<StreamGrant>[] = [
      { channel: 2 },
      { imei },
      { kind: field === 'talk_url' ? 'live' : 'talk' },
      { kind: 'history' },
    ];
    for (const changes of others) {
      const { token } = tokens.issue(await grantOf(field, changes));
      expect({ changes, status: await openWith(field, token) }).toEqual({ changes, status: 403 });
    }
  });

  it('is 403 if it is that of a stream of another account, and 404 if it names the device and a user of that account', async () => {
    const stranger = await Person.register(harness);
    const foreign = await dashcams.createFor(stranger);
    const theirs = await start(foreign, stranger);
    expect(await openWith(field, readToken(theirs[field]))).toBe(403);
    const { caller } = await tokens.verify(readToken(theirs[field]));
    expect(await openWith(field, tokens.issue(await grantOf(field, { caller })).token)).toBe(404);
  });
});

describe('the address of a share link', () => {
  it('is 401 with a token of a user, a forged or an expired one, and 403 with that of another link', async () => {
    const [view, other] = [
      await dashcams.openLink(dashcam.vehicleId, ['live_video']),
      await dashcams.openLink(dashcam.vehicleId, ['live_video']),
    ];
    const token = readToken(view['stream_url']);
    const expired = await tokens.issueForLink(await tokens.verifyForLink(token), longAgo());
    for (const field of ['stream_url', 'ws_flv_url', 'hls_url'] as const) {
      const openAs = async (given: string): Promise<number> => {
        const url = new URL(String(view[field]));
        url.searchParams.set('token', given);
        return findOpenStatus(field, url.href);
      };
      expect(await openAs(token)).toBe(200);
      expect(await openAs(readToken(stream[field]))).toBe(401);
      expect(await openAs(forge(token))).toBe(401);
      expect(await openAs(expired.token)).toBe(401);
      expect(await openAs(readToken(other[field]))).toBe(403);
    }
  });
});

describe('the Device API', () => {
  it.each([
    ['/realtime/stream.flv', 'live', 'history'],
    ['/history/stream.flv', 'history', 'live'],
  ] as const)('checks the token of %s', async (path, kind, otherKind) => {
    const grant = await grantOf('stream_url', { kind });
    const query = `imei=${dashcam.imei}&channel=1`;
    const findStatus = async (token: string): Promise<number> =>
      (await harness.get(`${path}?${query}&token=${token}`)).status;
    expect(await findStatus(forge(tokens.issue(grant).token))).toBe(401);
    expect(await findStatus(tokens.issue(grant, longAgo()).token)).toBe(401);
    expect(await findStatus(tokens.issue({ ...grant, kind: otherKind }).token)).toBe(403);
    expect(await findStatus(tokens.issue({ ...grant, channel: 2 }).token)).toBe(403);
    expect((await harness.get(`${path}?${query}`)).status).toBe(401);
  });
});
