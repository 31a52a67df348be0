import { decodeBody, setCircleAreas, setPolygonArea, setRectangleAreas, setRoute } from '@fleet/jt808';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, generalResponse, newImei } from '../../testing/fake-terminals.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import type { Geofence } from './schema.ts';
import { geofenceCollection } from './store.ts';
import { encodeArea, encodeAreaDeletion } from './terminal-areas.ts';
import { syncTerminals } from './terminal-sync.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let terminals: FakeTerminals;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness?.close());

const path = '/api/geofences';
const triangle = [
  [22.5, 114],
  [22.5, 114.1],
  [22.6, 114.1],
];
let vehicleId: number;
let imei: string;
let accountId: number;
/** Returns the messages that the terminal has received since the last call. */
const got = () =>
  terminals.seen
    .splice(0)
    .map(({ command }) => (command.kind === 'raw' ? command.messageId.toString(16) : command.kind));
const sync = (minutes = 0) => syncTerminals(harness.deps, new Date(Date.now() + minutes * 60_000));
const stateOf = async (id: number) => (await owner.get(`${path}/${id}`)).data['terminal_sync'];
const make = async (more: object = {}): Promise<number> => {
  const body = { name: 'Yard', coordinates: triangle, push_to_terminal: true, vehicles: [vehicleId], ...more };
  const { status, data } = await owner.post(path, body);
  expect(status).toBe(201);
  return data.id;
};

describe('areas in terminals', () => {
  beforeEach(async () => {
    const tenant = await harness.tenant('Areas');
    accountId = tenant.accountId;
    owner = harness.as(tenant.owner);
    imei = newImei();
    vehicleId = (await owner.post('/api/vehicles', { vehicle_no: 'AREA 1', imei })).data.id;
    terminals = new FakeTerminals(harness.deps);
  });
  afterEach(() => terminals.close());

  it('sends an area once its terminal is connected, and deletes it with its geofence', async () => {
    const id = await make();
    await sync();
    expect(await stateOf(id)).toEqual({ [imei]: 'pending' });
    await terminals.connect(imei);
    await sync();
    expect(got()).toEqual(['8604']);
    expect(await stateOf(id)).toEqual({ [imei]: 'synced' });
    await sync();
    expect(got()).toEqual([]);
    await owner.delete(`${path}/${id}`);
    await sync();
    expect(got()).toEqual(['8605']);
    await sync();
    expect(got()).toEqual([]);
  });

  it('deletes an area that has changed and sends it again', async () => {
    await terminals.connect(imei);
    const id = await make();
    await sync();
    got();
    await owner.put(`${path}/${id}`, { description: 'the same area' });
    await sync();
    expect(got()).toEqual([]);
    await owner.put(`${path}/${id}`, { type: 'circle', coordinates: [[22.5, 114]], radius_m: 300 });
    expect(await stateOf(id)).toEqual({ [imei]: 'pending' });
    await sync();
    expect(got()).toEqual(['8605', '8600']);
    expect(await stateOf(id)).toEqual({ [imei]: 'synced' });
    await owner.put(`${path}/${id}`, { push_to_terminal: false });
    await sync();
    expect(got()).toEqual(['8601']);
    expect(await stateOf(id)).toEqual({});
    await owner.put(`${path}/${id}`, { push_to_terminal: true });
    expect(await stateOf(id)).toEqual({ [imei]: 'pending' });
    await sync();
    expect(got()).toEqual(['8600']);
  });

  it('deletes an area from a terminal to whose vehicle the geofence no longer applies', async () => {
    await terminals.connect(imei);
    const other = (await owner.post('/api/vehicles', { vehicle_no: 'AREA 2' })).data.id;
    const id = await make();
    await sync();
    got();
    await owner.put(`${path}/${id}`, { vehicles: [other] });
    await sync();
    expect(got()).toEqual(['8605']);
    expect(await stateOf(id)).toEqual({});
  });

  it('retries areas that the terminal rejects, but not those that it does not support', async () => {
    await terminals.connect(imei);
    terminals.respond = async () => generalResponse(1);
    const id = await make();
    await sync();
    expect(await stateOf(id)).toEqual({ [imei]: 'failed' });
    got();
    await sync(5);
    expect(got()).toEqual([]);
    terminals.respond = async () => generalResponse(3);
    await sync(11);
    expect(got()).toEqual(['8605', '8604']);
    expect(await stateOf(id)).toEqual({ [imei]: 'unsupported' });
    await sync(10_000);
    expect(got()).toEqual([]);
  });

  it('marks areas that the standard cannot express as unsupported', async () => {
    await terminals.connect(imei);
    const corridor = { type: 'corridor', coordinates: triangle };
    const [wide, narrow] = [await make({ ...corridor, width_m: 300 }), await make({ ...corridor, width_m: 200 })];
    await sync();
    expect(got()).toEqual(['8606']);
    expect(await stateOf(wide)).toEqual({ [imei]: 'unsupported' });
    expect(await stateOf(narrow)).toEqual({ [imei]: 'synced' });
  });
});

describe('terminalArea', () => {
  const bodyOf = async (more: object) => {
    const { accountId: id } = harness.ours;
    accountId = id;
    owner = harness.as(harness.ours.owner);
    const { data } = await owner.post(path, { name: 'Höfe', coordinates: triangle, ...more });
    return (await geofenceCollection(harness.records).find({ accountId }, data.id)) as Geofence;
  };
  const bytes = (geofence: Geofence, edition: '2013' | '2019' = '2013') => {
    const area = encodeArea(geofence, edition);
    if (area === null) throw new Error('no area');
    return Buffer.from(area.encodeMessage.bodyHex, 'hex');
  };

  it('encodes a polygon', async () => {
    const geofence = await bodyOf({ speed_limit_kmh: 40, notify_on: ['exit'] });
    expect(decodeBody(setPolygonArea, bytes(geofence, '2019'), '2019')).toMatchObject({
      areaId: geofence._id,
      attributes: 0b1_0010,
      maxSpeedKmh: 40,
      nightMaxSpeedKmh: 40,
      vertices: triangle,
      name: 'H?fe',
    });
  });

  it('encodes a circle south of the equator and west of Greenwich', async () => {
    const geofence = await bodyOf({ type: 'circle', coordinates: [[-22.5, -43.2]], radius_m: 250 });
    const { areas } = decodeBody(setCircleAreas, bytes(geofence), '2013');
    expect(areas).toMatchObject([
      {
        areaId: geofence._id,
        attributes: 0b1101_0100,
        centerLatitudeDeg: 22.5,
        centerLongitudeDeg: 43.2,
        radiusM: 250,
      },
    ]);
  });

  it('encodes a rectangle', async () => {
    const corners = [
      [22.5, 114],
      [22.5, 114.1],
      [22.6, 114.1],
      [22.6, 114],
    ];
    const { areas } = decodeBody(setRectangleAreas, bytes(await bodyOf({ coordinates: corners })), '2013');
    expect(areas).toMatchObject([
      {
        topLeftLatitudeDeg: 22.6,
        topLeftLongitudeDeg: 114,
        bottomRightLatitudeDeg: 22.5,
        bottomRightLongitudeDeg: 114.1,
      },
    ]);
  });

  it('encodes a corridor', async () => {
    const geofence = await bodyOf({ type: 'corridor', width_m: 50, speed_limit_kmh: 60 });
    const { routeId, points } = decodeBody(setRoute, bytes(geofence), '2013');
    expect(routeId).toBe(geofence._id);
    expect(points).toHaveLength(3);
    expect(points[1]).toMatchObject({
      pointId: 2,
      latitudeDeg: 22.5,
      longitudeDeg: 114.1,
      widthM: 50,
      maxSpeedKmh: 60,
    });
  });

  it('returns null for a geofence that the standard cannot express', async () => {
    const geofence = await bodyOf({});
    const across = { ...geofence, points: [1, 1, -1, 1, 1, 2] };
    expect(encodeArea(across, '2013')).toBeNull();
    const schedule = { timezone: 'UTC', days: [1], from: '08:00', to: '10:00' };
    expect(encodeArea({ ...geofence, schedule }, '2013')).toBeNull();
    expect(encodeAreaDeletion('circle', 7, '2013')).toEqual({ messageId: 0x8601, bodyHex: '0100000007' });
  });
});
