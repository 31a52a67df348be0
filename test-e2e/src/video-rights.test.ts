import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { getFfmpegPath, runFfmpeg } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { findOpenStatus, type OpenStream, openStream } from './testing/open-stream.ts';
import { Person } from './testing/person.ts';
import { createRecording } from './testing/playback.ts';
import { readProductSecrets } from './testing/product-secrets.ts';
import { findTalkStatus } from './testing/talker.ts';

jest.setTimeout(180_000);

let harness: DedicatedHarness;
let dashcams: Dashcams;
let owner: Person;
let dashcam: Dashcam;
/** Keeps the stream of channel 1 open. */
let watched: OpenStream;
let voice: string;

beforeAll(async () => {
  harness = await leaseHarness({ DEVICE_API_AUTH: 'key' });
  dashcams = await Dashcams.open(harness);
  owner = await Person.logInOwner(harness);
  dashcam = await dashcams.create({}, { recordings: [createRecording('2026-08-01T10:00:00', '2026-08-01T10:00:20')] });
  const { stream_url: url } = await owner.request('POST', `/vehicles/start-dashcam-stream/${dashcam.vehicleId}`);
  watched = await openStream('stream_url', String(url));
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=700:duration=0.2', '-ar', '8000', '-f', 'wav', '-'];
  voice = (await runFfmpeg(getFfmpegPath(), tone)).toString('base64');
}, 180_000);
afterAll(async () => {
  watched?.close();
  await harness?.stop();
}, 60_000);

const clip = { channel: 1, start_time: '2026-08-01T10:00:00+08:00', end_time: '2026-08-01T10:00:05+08:00' };
const recording = { ...clip, resource_type: 0, stream_type: 1, memory_type: 1 };

/** A right that a use needs. `any`: one of the other three. `view`: the vehicle is visible. */
type Right = 'live' | 'history' | 'command' | 'any' | 'view';

/** A use of the video of a vehicle; returns the status. */
interface Use {
  readonly name: string;
  readonly right: Right;
  readonly send: (person: Person) => Promise<number>;
}

const onPlatform = (right: Right, name: string, method: string, path: () => string, body?: () => object): Use => ({
  name,
  right,
  send: async (person) => (await person.send(method, path(), body?.())).status,
});

const onVideoService = (right: Right, name: string, method: string, path: string, body?: object): Use => ({
  name,
  right,
  send: async (person) => (await person.sendToVideoService(method, `/${dashcam.imei}${path}`, body)).status,
});

/** Reads only the status: a stream does not end. */
const onStream = (right: Right, name: string, path: string): Use => ({
  name,
  right,
  send: async ({ headers }) => {
    const { status, body } = await fetch(`${harness.product.runtime.video_url}/${dashcam.imei}${path}`, { headers });
    await body?.cancel();
    return status;
  },
});

const talk: Use = {
  name: 'talk',
  right: 'command',
  send: ({ headers }) =>
    findTalkStatus(`${harness.product.runtime.video_url.replace(/^http/, 'ws')}/${dashcam.imei}/1/talk`, {
      ...headers,
    }),
};

const vehiclePath = (path: string) => (): string => `/vehicles/${path.replace(':id', String(dashcam.vehicleId))}`;

const uses: readonly Use[] = [
  onPlatform('live', 'start', 'POST', vehiclePath('start-dashcam-stream/:id')),
  onPlatform('live', 'get', 'GET', vehiclePath(':id/v2/get-dashcam-stream')),
  onPlatform('live', 'stop', 'POST', vehiclePath('stop-dashcam-stream/:id')),
  onPlatform('history', 'list media', 'GET', vehiclePath(':id/list-dashcam-media')),
  onPlatform('command', 'picture', 'POST', vehiclePath(':id/dashcam-media-capture?wait=0&wake=false')),
  onPlatform(
    'command',
    'broadcast',
    'POST',
    () => '/dashcam-broadcasts',
    () => ({ vehicle_ids: [dashcam.vehicleId], content_base64: voice }),
  ),
  onVideoService('live', 'start by number', 'POST', '/start'),
  onStream('live', 'watch FLV', '/1/stream.flv'),
  onStream('live', 'watch HLS', '/1/index.m3u8'),
  onVideoService('history', 'list recordings', 'POST', '/resource-list', clip),
  onVideoService('history', 'play a recording', 'POST', '/history/start', recording),
  onVideoService('history', 'control playback', 'POST', '/history/control', { channel: 1, playback_control: 0 }),
  onVideoService('command', 'picture by number', 'POST', '/media-capture', { wait: 0, wake: false }),
  onVideoService('command', 'clip', 'POST', '/media-capture', { kind: 'clip', duration_seconds: 1, wait: 0 }),
  onVideoService('command', 'upload', 'POST', '/upload', clip),
  onVideoService('command', 'listen', 'POST', '/start', { channel: 2, data_type: 3 }),
  onVideoService('command', 'another media server', 'POST', '/start', { channel: 2, host: '203.0.113.5', tcp_port: 1 }),
  talk,
  onVideoService('any', 'wake up', 'GET', '/wakeup'),
  onVideoService('any', 'link test', 'GET', '/ping?deep=true'),
  onVideoService('view', 'ping', 'GET', '/ping'),
];

/** Statuses that show that the caller was admitted. 409: another use of the device is in progress. */
const admitted: ReadonlySet<number> = new Set([101, 200, 202, 409]);
const describeStatus = (status: number): string => (admitted.has(status) ? 'permitted' : String(status));

async function useAll(person: Person): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  for (const { name, send } of uses) outcomes[name] = describeStatus(await send(person));
  return outcomes;
}

/** Returns what callers with these rights should receive; null: the vehicle is not visible. */
function expectedOf(rights: readonly Right[] | null): Record<string, string> {
  if (rights === null) return Object.fromEntries(uses.map(({ name }) => [name, '404']));
  const held = new Set<Right>(['view', ...rights, ...(rights.length > 0 ? (['any'] as const) : [])]);
  return Object.fromEntries(uses.map(({ name, right }) => [name, held.has(right) ? 'permitted' : '403']));
}

async function createDriver(): Promise<Person> {
  const driver = await owner.createUser({ role: 'driver' });
  await owner.request('PUT', `/vehicles/${dashcam.vehicleId}/owner`, { owner_user_id: driver.id });
  return driver;
}

describe('the video of a vehicle of the own account', () => {
  it.each<[string, readonly Right[] | null, () => Promise<Person>]>([
    ['owner', ['live', 'history', 'command'], async () => owner],
    ['admin', ['live', 'history', 'command'], () => owner.createUser({ role: 'admin' })],
    ['manager', ['live', 'history', 'command'], () => owner.createUser({ role: 'manager' })],
    ['viewer of video', ['live', 'history'], () => owner.createUser({ role: 'viewer', can_view_video: true })],
    ['viewer', [], () => owner.createUser({ role: 'viewer', can_view_video: false })],
    ['driver of another vehicle', null, () => owner.createUser({ role: 'driver' })],
    ['driver of the vehicle', [], createDriver],
  ])('is usable by the role %s: %s', async (_role, rights, create) => {
    expect(await useAll(await create())).toEqual(expectedOf(rights));
  });
});

async function createSharedUser(permissions: readonly string[], role: string): Promise<Person> {
  const account = await Person.register(harness);
  const person = role === 'owner' ? account : await account.createUser({ role });
  const body = { secondaryUser: person.id, vehicles: [dashcam.vehicleId], permissions };
  await owner.request('POST', '/vehicle/share-vehicles', body);
  return person;
}

describe('the video of a shared vehicle', () => {
  it.each<[readonly string[], string, readonly Right[]]>([
    [['view', 'notifications'], 'owner', []],
    [['live_video'], 'owner', ['live']],
    [['history_video'], 'owner', ['history']],
    [['commands'], 'owner', ['command']],
    [['live_video', 'history_video', 'commands'], 'owner', ['live', 'history', 'command']],
    // What is shared does not depend on the role in another account.
    [['live_video', 'history_video', 'commands'], 'viewer', ['live', 'history', 'command']],
    [['live_video', 'history_video', 'commands'], 'driver', ['live', 'history', 'command']],
  ])('is usable with the permissions %j by the role %s of another account: %s', async (permissions, role, rights) => {
    expect(await useAll(await createSharedUser(permissions, role))).toEqual(expectedOf(rights));
  });

  it('is not visible to users of other accounts', async () => {
    expect(await useAll(await Person.register(harness))).toEqual(expectedOf(null));
  });

  it('shows no files of a capture to a user without history_video', async () => {
    const person = await createSharedUser(['commands'], 'owner');
    const path = `/vehicles/${dashcam.vehicleId}/dashcam-media-capture?wait=60&wake=false`;
    const own = await owner.request('POST', path);
    expect(own).toMatchObject({ status: 'completed', media: [{ url: expect.any(String) }] });
    const taken = await person.request('POST', path);
    expect(taken).toMatchObject({ status: 'completed', media: [] });
    const capturePath = (capture: typeof own): string => `/dashcam-captures/${String(capture['capture_id'])}`;
    expect(await person.request('GET', capturePath(own))).toMatchObject({ media: [] });
    const watcher = await createSharedUser(['live_video'], 'owner');
    expect((await watcher.send('GET', capturePath(own))).status).toBe(403);
    expect((await (await Person.register(harness)).send('GET', capturePath(own))).status).toBe(404);
  });
});

describe('a share link without live_video', () => {
  it('shows no streams, and its token opens none', async () => {
    const link = { vehicle_id: dashcam.vehicleId, expires_in_hours: 1, permissions: ['location'] };
    const { id, slug } = await owner.request('POST', '/share-links', link);
    const { base_url: base, video_url: videoUrl } = harness.product.runtime;
    const { data } = (await (await fetch(`${base}/api/public/share-links/${String(slug)}`)).json()) as {
      data: Readonly<Record<string, unknown>>;
    };
    expect(data).toMatchObject({ stream_url: null, ws_flv_url: null, hls_url: null });
    const secrets = readProductSecrets(harness).streamTokenSecret;
    const tokens = new StreamTokens({ secrets, lifetimeSeconds: 600 });
    const { token } = await tokens.issueForLink({ linkId: Number(id), slug: String(slug) });
    const address = `${videoUrl}/s/${String(slug)}/1`;
    expect(await findOpenStatus('stream_url', `${address}/stream.flv?token=${token}`)).toBe(403);
    expect(await findOpenStatus('hls_url', `${address}/index.m3u8?token=${token}`)).toBe(403);
    const websocketUrl = `${address.replace(/^http/, 'ws')}/stream.flv?token=${token}`;
    expect(await findOpenStatus('ws_flv_url', websocketUrl)).toBe(403);
  });
});
