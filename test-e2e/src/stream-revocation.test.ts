import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { findOpenStatus, type OpenStream, openStream, type StreamField, streamFields } from './testing/open-stream.ts';
import { Person } from './testing/person.ts';
import type { PlatformRecord } from './testing/platform-client.ts';

jest.setTimeout(120_000);

/** Time after which a lost right must have ended everything. */
const maxDelayMs = 5_000;
const guestFields = ['stream_url', 'ws_flv_url', 'hls_url'] as const;

let harness: DedicatedHarness;
let dashcams: Dashcams;
let owner: Person;
beforeAll(async () => {
  harness = await leaseHarness({ DEVICE_API_AUTH: 'key' });
  dashcams = await Dashcams.open(harness);
  owner = await Person.logInOwner(harness);
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

const start = ({ vehicleId }: Dashcam, person: Person): Promise<PlatformRecord> =>
  person.request('POST', `/vehicles/start-dashcam-stream/${vehicleId}`, { wake: false });

const openAll = (addresses: PlatformRecord, fields: readonly StreamField[]): Promise<OpenStream[]> =>
  Promise.all(fields.map((field) => openStream(field, String(addresses[field]))));

/** Takes a right away; returns the addresses that have not ended in time, or that open again. */
async function findSurvivors(
  addresses: PlatformRecord,
  fields: readonly StreamField[],
  end: () => Promise<unknown>,
): Promise<string[]> {
  const opened = await openAll(addresses, fields);
  await end();
  const endedAt = performance.now();
  const haveEnded = () => opened.every((each) => each.isEnded());
  await waitFor(() => haveEnded() || performance.now() - endedAt > maxDelayMs, 'the end of everything');
  const survivors = fields
    .filter((_field, index) => opened[index]?.isEnded() !== true)
    .map((field) => `${field} goes on`);
  for (const each of opened) each.close();
  for (const field of fields) {
    const status = await findOpenStatus(field, String(addresses[field]));
    if (![401, 403, 404, 410].includes(status)) survivors.push(`${field} opens again with ${status}`);
  }
  return survivors;
}

const share = ({ vehicleId }: Dashcam, person: Person, permissions: readonly string[], more: object = {}) =>
  owner.request('POST', '/vehicle/share-vehicles', {
    secondaryUser: person.id,
    vehicles: [vehicleId],
    permissions,
    ...more,
  });

/** Creates a user of another account with whom a vehicle is shared. */
async function createSharedUser(dashcam: Dashcam, more: object = {}): Promise<Person> {
  const person = await Person.register(harness);
  await share(dashcam, person, ['view', 'live_video', 'commands'], more);
  return person;
}

describe('a user with a share loses streams, playlists and talk within five seconds', () => {
  it.each<[string, (dashcam: Dashcam, person: Person) => Promise<unknown>]>([
    [
      'when the share is removed',
      ({ vehicleId }, { id }) =>
        owner.request('POST', '/vehicle/remove-share-vehicles', { secondaryUser: id, vehicles: [vehicleId] }),
    ],
    ['when the share loses its permissions', (dashcam, person) => share(dashcam, person, ['view', 'notifications'])],
    ['when the vehicle is deleted', ({ vehicleId }) => owner.request('DELETE', `/vehicles/${vehicleId}`)],
    ['when the user logs out', (_dashcam, person) => person.request('POST', '/auth/logout')],
  ])('%s', async (_when, end) => {
    const dashcam = await dashcams.create();
    const person = await createSharedUser(dashcam);
    expect(await findSurvivors(await start(dashcam, person), streamFields, () => end(dashcam, person))).toEqual([]);
  });

  it('when the share expires', async () => {
    const dashcam = await dashcams.create();
    const person = await createSharedUser(dashcam);
    const addresses = await start(dashcam, person);
    const expire = async (): Promise<void> => {
      const expiresAtMs = Date.now() + 4_000;
      const more = { expires_at: new Date(expiresAtMs).toISOString() };
      await share(dashcam, person, ['view', 'live_video', 'commands'], more);
      await waitFor(() => Date.now() >= expiresAtMs, 'the end of the share');
    };
    expect(await findSurvivors(addresses, streamFields, expire)).toEqual([]);
  });

  it('but only the streams of the lost permission, and no other viewer loses any', async () => {
    const dashcam = await dashcams.create();
    const person = await createSharedUser(dashcam);
    const watched = await openAll(await start(dashcam, owner), guestFields);
    const [talk] = await openAll(await start(dashcam, person), ['talk_url']);
    expect(
      await findSurvivors(await start(dashcam, person), guestFields, () =>
        share(dashcam, person, ['view', 'commands']),
      ),
    ).toEqual([]);
    expect([...watched, talk].map((each) => each?.isEnded())).toEqual([false, false, false, false]);
    for (const each of [...watched, talk]) each?.close();
  });
});

describe('a user of the account loses streams, playlists and talk within five seconds', () => {
  it.each<[string, (person: Person) => Promise<unknown>]>([
    ['when the role becomes driver', ({ id }) => owner.request('PUT', `/users/${id}`, { role: 'driver' })],
    ['when the user is disabled', ({ id }) => owner.request('PUT', `/users/${id}`, { disabled: true })],
    ['when the user is deleted', ({ id }) => owner.request('DELETE', `/users/${id}`)],
  ])('%s', async (_when, end) => {
    const dashcam = await dashcams.create();
    const manager = await owner.createUser({ role: 'manager' });
    expect(await findSurvivors(await start(dashcam, manager), streamFields, () => end(manager))).toEqual([]);
  });

  it('when a viewer may no longer view video', async () => {
    const dashcam = await dashcams.create();
    const viewer = await owner.createUser({ role: 'viewer', can_view_video: true });
    const end = () => owner.request('PUT', `/users/${viewer.id}`, { can_view_video: false });
    expect(await findSurvivors(await start(dashcam, viewer), guestFields, end)).toEqual([]);
  });

  it('keeps the streams, and loses talk, when a manager becomes a viewer of video', async () => {
    const dashcam = await dashcams.create();
    const manager = await owner.createUser({ role: 'manager', can_view_video: true });
    const addresses = await start(dashcam, manager);
    const watched = await openAll(addresses, guestFields);
    expect(
      await findSurvivors(addresses, ['talk_url'], () =>
        owner.request('PUT', `/users/${manager.id}`, { role: 'viewer' }),
      ),
    ).toEqual([]);
    expect(watched.map((each) => each.isEnded())).toEqual([false, false, false]);
    for (const each of watched) each.close();
  });
});

describe('a guest loses streams and playlists within five seconds', () => {
  it('when the link is revoked', async () => {
    const { vehicleId } = await dashcams.create();
    const view = await dashcams.openLink(vehicleId, ['live_video']);
    expect(await findSurvivors(view, guestFields, () => owner.request('DELETE', `/share-links/${view.id}`))).toEqual(
      [],
    );
  });

  it('when the vehicle is deleted', async () => {
    const { vehicleId } = await dashcams.create();
    const view = await dashcams.openLink(vehicleId, ['live_video']);
    expect(await findSurvivors(view, guestFields, () => owner.request('DELETE', `/vehicles/${vehicleId}`))).toEqual([]);
  });
});

describe('an API key loses streams and playlists within five seconds', () => {
  it('when it is revoked', async () => {
    const { imei } = await dashcams.create();
    const { id, key } = await owner.request('POST', '/api-keys', { name: 'player', scopes: ['video'] });
    const response = await fetch(`${harness.product.runtime.video_url}/${imei}/start`, {
      method: 'POST',
      headers: { 'x-api-key': String(key) },
    });
    const addresses = (await response.json()) as PlatformRecord;
    expect(
      await findSurvivors(addresses, streamFields, () => owner.request('DELETE', `/api-keys/${String(id)}`)),
    ).toEqual([]);
  });
});
