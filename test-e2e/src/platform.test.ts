import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';
import { type InterfaceRow, readInterfaceRows, toCallPattern } from './testing/interface-tables.ts';

interface Reply {
  status: number;
  headers: Headers;
  body: unknown;
}
interface Data {
  readonly id: number;
  readonly [field: string]: unknown;
}

let harness: ProductHarness;
let headers: Record<string, string>;

async function call(
  method: string,
  path: string,
  body?: unknown,
  own: Record<string, string> = headers,
): Promise<Reply> {
  const response = await fetch(`${harness.product.runtime.base_url}/api${path}`, {
    method,
    headers: { ...own, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const getData = ({ body }: Reply): Data => (body as { data: Data }).data;

async function createRecord(path: string, body: object): Promise<Data> {
  const reply = await call('POST', path, body);
  expect({ status: reply.status, body: reply.body }).toMatchObject({ status: 201 });
  return getData(reply);
}

beforeAll(async () => {
  harness = await joinSharedHarness();
  const { demo } = harness.product.runtime;
  const login = { identifier: demo.email, password: demo.password };
  const reply = await call('POST', '/auth/login', login, {});
  expect({ status: reply.status, body: reply.body }).toMatchObject({ status: 200 });
  headers = { 'x-api-key': demo.api_key, authorization: `Bearer ${String(getData(reply)['access_token'])}` };
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

describe('the demo account through the reverse proxy', () => {
  it('creates, lists, changes, shares and deletes a vehicle', async () => {
    const vehicle = await createRecord('/vehicles', { vehicle_no: 'KL 07 AB 1', vehicle_type: 'truck' });
    const listed = await call('GET', '/vehicles?query=kl07ab1');
    expect(listed.body).toMatchObject({ data: [{ id: vehicle.id }], meta: { pagination: { total: 1 } } });
    const at = `/vehicles/${vehicle.id}`;
    expect(getData(await call('PUT', at, { name: 'Lorry' }))).toMatchObject({ name: 'Lorry', version: 2 });

    const link = await createRecord('/share-links', { vehicle_id: vehicle.id, expires_in_hours: 1 });
    const shared = `/public/share-links/${String(link['slug'])}`;
    expect((await call('GET', shared, undefined, {})).body).toMatchObject({ data: { vehicle: { name: 'Lorry' } } });

    expect(getData(await call('DELETE', at))).toMatchObject({ id: vehicle.id, name: 'Lorry' });
    expect((await call('DELETE', at)).status).toBe(404);
    expect((await call('GET', shared, undefined, {})).status).toBeGreaterThanOrEqual(404);
  });

  it('serves the documents of both APIs and one page for them', async () => {
    const { base_url: base } = harness.product.runtime;
    for (const [path, title] of [
      ['/api/openapi.json', 'Platform API'],
      ['/api/v1/openapi.json', 'Device API'],
    ] as const) {
      const document = await (await fetch(base + path)).json();
      expect(document).toMatchObject({ openapi: '3.1.0', info: { title } });
      expect(await (await fetch(`${base}/docs/initializer.js`)).text()).toContain(`"${path}"`);
    }
  });
});

/** A row of the interface's tables: request and expected status. */
type Row = readonly [method: string, path: string, body?: object | undefined, status?: number];

/** Records to which the rows refer. */
async function records() {
  const vehicle = await createRecord('/vehicles', { vehicle_no: 'ROWS 1' });
  const phone = '+14155550142';
  const user = await createRecord('/users', { name: 'Guest', phone_number: phone, role: 'viewer' });
  const share = { secondaryUser: user.id, vehicles: [vehicle.id] };
  const driver = await createRecord('/drivers', { name: 'Row' });
  const group = await createRecord('/vehicle-groups', { name: 'Rows' });
  const geofence = await createRecord('/geofences', { name: 'Rows', ...square });
  const route = await createRecord('/routes', { name: 'Rows', ...way });
  const webhook = await createRecord('/user-webhooks', { url: 'https://93.184.216.34/rows' });
  const mining = await createRecord('/mining-devices', { imei: '013800138555' });
  const link = await createRecord('/share-links', { vehicle_id: vehicle.id, expires_in_hours: 1 });
  return { vehicle, phone, share, driver, group, geofence, route, webhook, mining, link };
}

const way = {
  path: [
    [9.96, 76.28],
    [9.97, 76.29],
  ],
};
const passport = 'P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<\nL898902C36UTO7408122F1204159ZE184226B<<<<<10';
const square = {
  coordinates: [
    [9.96, 76.28],
    [9.96, 76.3],
    [9.98, 76.3],
  ],
};

type Records = Awaited<ReturnType<typeof records>>;

function createRows(records: Records): readonly Row[] {
  const { vehicle, phone, share, driver, group, geofence, route, webhook, mining, link } = records;
  return [
    ['POST', '/vehicle/search-user-for-share', { phoneNumber: phone }],
    ['POST', '/vehicle/share-vehicles', share],
    ['GET', '/vehicle/get-shared-users'],
    ['GET', `/vehicle/shared-vehicles/${share.secondaryUser}`],
    ['POST', '/vehicle/remove-share-vehicles', share],
    ['GET', '/share-links'],
    ['POST', '/share-links', { vehicle_id: vehicle.id, expires_in_hours: 2 }, 201],
    ['GET', `/share-links/${String(link['slug'])}`],
    ['DELETE', `/share-links/${link.id}`],
    ['GET', '/user/generate-websocket-token'],
    ['GET', '/rtt-tracking/get-imei-latest-location'],
    ['GET', '/fleet'],
    ['POST', '/vehicles/import', { rows: [{ vehicle_no: 'ROWS 2' }] }],
    ['GET', `/vehicles/${vehicle.id}/locations?simplify_m=10&limit=100`],
    ['GET', `/vehicles/${vehicle.id}/trips`],
    ['GET', `/vehicles/${vehicle.id}/days?month=2026-01`],
    ['GET', `/vehicles/${vehicle.id}/list-dashcam-media?channelId=1&kind=image`],
    ['GET', `/vehicles/${vehicle.id}/data-usage?month=2026-11`],
    ['GET', '/user/downloaded-dashcam-videos?status=completed'],
    ['GET', `/vehicles/${vehicle.id}/recordings?from=2026-01-22T00:00:00Z&to=2026-01-22T12:00:00Z`],
    // The vehicle has no terminal; dashcam.test.ts has one.
    ['POST', `/vehicles/start-dashcam-stream/${vehicle.id}`, {}, 404],
    ['POST', `/vehicles/stop-dashcam-stream/${vehicle.id}`, {}, 404],
    ['GET', `/vehicles/${vehicle.id}/v2/get-dashcam-stream?channelId=1&streamType=LOW`, undefined, 404],
    ['POST', `/vehicles/${vehicle.id}/dashcam-media-capture?channelId=1&quality=MEDIUM`, {}, 404],
    ['GET', '/rtt-tracking/get-imei-based-on-vehicle-number'],
    ['POST', '/drivers', { name: 'Another' }, 201],
    ['GET', '/drivers'],
    ['PUT', `/drivers/${driver.id}`, { name: 'Renamed' }],
    ['DELETE', `/drivers/${driver.id}`],
    ['POST', '/vehicle-groups', { name: 'More', vehicles: [vehicle.id], parent_group: group.id }, 201],
    ['GET', '/vehicle-groups?populateVehicles='],
    ['GET', '/vehicle-groups?folderView=true'],
    ['GET', `/vehicle-groups/${group.id}`],
    ['GET', `/vehicle-groups/${group.id}/list-sub-groups`],
    ['PUT', `/vehicle-groups/${group.id}`, { name: 'Renamed' }],
    ['DELETE', `/vehicle-groups/${group.id}`],
    ['POST', '/geofences', { name: 'Another', ...square }, 201],
    ['GET', '/geofences'],
    ['GET', `/geofences/${geofence.id}`],
    ['PUT', `/geofences/${geofence.id}`, { name: 'Renamed' }],
    ['DELETE', `/geofences/${geofence.id}`],
    ['GET', '/routes'],
    ['GET', `/routes/${route.id}`],
    ['POST', '/routes', { name: 'Another', ...way }, 201],
    ['PUT', `/routes/${route.id}`, { name: 'Renamed' }],
    ['POST', '/routes/snap-to-road', { coordinates: way.path.map(([lat, lng]) => ({ lat, lng })) }],
    ['POST', `/vehicles/${vehicle.id}/link-route`, { route_ids: [route.id] }],
    ['GET', `/vehicles/${vehicle.id}/list-linked-routes`],
    ['POST', `/vehicles/${vehicle.id}/unlink-route`, { route_ids: [route.id] }],
    ['DELETE', `/routes/${route.id}`],
    ['GET', '/devices/reverse-geocode?latitude=28.6&longitude=77.2'],
    ['GET', '/devices/geocode?address=New%20Delhi'],
    ['GET', '/devices/auto-suggest-address?query=New&latitude=28.6&longitude=77.2'],
    ['GET', `/devices/generate-route?vehicleId=${vehicle.id}&latitude=28.6&longitude=77.2`, undefined, 404],
    ['POST', '/notifications/update-push-token', { push_token: 'rows' }],
    ['GET', '/notifications/types'],
    ['GET', `/notifications/vehicle-notifications/${vehicle.id}?record_date=31/01/2026&type=sos`],
    ['POST', `/notifications/update-preferences/${vehicle.id}`, { notification_types: ['sos'] }],
    ['GET', `/notifications/vehicle-preferences/${vehicle.id}`],
    ['GET', '/user-preferences/me'],
    ['PUT', '/user-preferences/me', { theme: 'dark' }],
    ['PUT', '/global-config', {}],
    ['GET', '/user-webhooks'],
    ['GET', `/user-webhooks/${webhook.id}`],
    [
      'POST',
      '/user-webhooks',
      { url: 'https://93.184.216.34/more', secret: 'a secret of mine'.replaceAll(' ', '-') },
      201,
    ],
    ['PUT', `/user-webhooks/${webhook.id}`, { name: 'Renamed' }],
    ['GET', `/user-webhooks/${webhook.id}/deliveries`],
    ['GET', `/user-webhooks/${webhook.id}/stats`],
    ['POST', `/user-webhooks/${webhook.id}/replay`, { since: '2026-01-31T00:00:00Z' }, 202],
    ['DELETE', `/user-webhooks/${webhook.id}`],
    ['GET', '/toll-gates'],
    ['POST', '/devices/extract-document', { text: passport }],
    ['POST', '/mining-devices', { imei: '013800138556' }, 201],
    ['POST', '/mining-devices/list', { page: 1, limit: 10, query: '0138', filters: {} }],
    ['PUT', `/mining-devices/${mining.id}`, { data: { vehicle_no: 'MINE 1' } }],
    ['POST', '/mining-device/clear-database', { confirm: 'CLEAR' }],
    ['GET', '/subscriptions/billing-portal'],
    ['POST', '/subscription/create-gateway-order', { plan: 'basic', vehicle_ids: [vehicle.id], months: 1 }, 201],
    ['GET', '/dealers/me?limit=10&offset=0&query='],
  ];
}

/** Subset of an OpenAPI schema that this test reads. */
interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Operation {
  readonly parameters: readonly { readonly name: string; readonly description?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Returns the names of parameters and fields, and the aliases that descriptions mention. */
function listNames({ parameters, requestBody }: Operation, { components }: Document): string[] {
  const named = (name: string, description = ''): string[] => [
    name,
    ...[...description.matchAll(/`(\w+)`/g)].map(([, other = '']) => other),
  ];
  const fields = (schema: Schema): string[] => {
    const here = components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
    const own = Object.entries(here.properties ?? {}).flatMap(([name, part]) => [
      ...named(name, part.description),
      ...fields(part),
    ]);
    return [...own, ...[...(here.items === undefined ? [] : [here.items]), ...(here.anyOf ?? [])].flatMap(fields)];
  };
  const bodies = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fields(schema));
  return [...parameters.flatMap(({ name, description }) => named(name, description)), ...bodies];
}

const interfaces = readInterfaceRows();
const describeShared = interfaces.length > 0 ? describe : describe.skip;
/** Served by the Device API, for partners. */
const isOfPartners = ({ path }: InterfaceRow): boolean => path === '/api/device/sendInstruct';

describeShared('interface.md', () => {
  it('has no row that is missing in the document, and no missing parameter or field', async () => {
    const document = (await (await fetch(`${harness.product.runtime.base_url}/api/openapi.json`)).json()) as Document;
    const template = (path: string): string => path.replaceAll(/:\w+|\{\w+\}/g, '*');
    const operations = new Map(
      Object.entries(document.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, each]) => [`${method.toUpperCase()} ${template(path)}`, each] as const),
      ),
    );
    const missing = interfaces
      .filter((row) => !isOfPartners(row))
      .flatMap((row) => {
        const operation = operations.get(`${row.method} ${template(row.path)}`);
        if (operation === undefined) return [`${row.method} ${row.path}`];
        // Every body may be wrapped in `data`.
        const known = new Set(['data', ...listNames(operation, document)]);
        return row.names.filter((name) => !known.has(name)).map((name) => `${row.method} ${row.path}: ${name}`);
      });
    expect(missing).toEqual([]);
  });

  it('has no row that is missing in the requests below', () => {
    const id = { id: 1 };
    const named = { vehicle: id, driver: id, group: id, geofence: id, route: id, webhook: id, mining: id, link: id };
    const share = { secondaryUser: 1, vehicles: [1] };
    const rows = createRows({ ...named, share, phone: '+14155550142' });
    const walked = [...rows.map(([method, path]) => ({ method, path: `/api${path}` })), ...withoutHeaders];
    const missing = interfaces.filter(
      (row) => !walked.some(({ method, path }) => method === row.method && toCallPattern(row).test(path)),
    );
    expect(missing).toEqual([]);
    expect(interfaces.length).toBeGreaterThan(60);
  });
});

/** Rows with their own credentials. */
const withoutHeaders = [
  '/api/devices/partner/pushhb',
  '/api/devices/partner/pushgps',
  '/api/device/sendInstruct',
  '/api/chat-log/sms-provider-webhook',
  '/api/chat-log/voice-assistant-webhook',
].map((path) => ({ method: 'POST', path }));

describe("the rows of the interface's tables", () => {
  it('are served only with both headers', async () => {
    const rows = createRows(await records());
    const key = { 'x-api-key': headers['x-api-key'] ?? '' };
    const token = { authorization: headers['authorization'] ?? '' };
    const found: unknown[] = [];
    for (const [method, path, body, status = 200] of rows) {
      const without = [await call(method, path, body, {}), await call(method, path, body, key)];
      without.push(await call(method, path, body, token));
      const reply = await call(method, path, body);
      const refusals = without.map(({ status: refusal }) => refusal);
      found.push({ row: `${method} ${path}`, refusals, status: reply.status, expected: status });
    }
    expect(found).toEqual(
      rows.map(([method, path, , status = 200]) => ({
        row: `${method} ${path}`,
        refusals: [401, 401, 401],
        status,
        expected: status,
      })),
    );
  }, 120_000);

  it.each(['/devices/partner/pushhb', '/devices/partner/pushgps'])('%s requires the partner token', async (path) => {
    expect((await call('POST', path, { token: 'wrong', data_list: [] }, {})).status).toBe(401);
  });

  it('/device/sendInstruct requires the partner token', async () => {
    const reply = await call('POST', '/device/sendInstruct', { token: 'wrong', proNo: 128 }, {});
    expect(reply).toMatchObject({ status: 401, body: { code: 1004 } });
  });

  it.each(['sms-provider', 'voice-assistant'])('%s accepts only signed requests', async (receiver) => {
    const reply = await call('POST', `/chat-log/${receiver}-webhook?provider=generic`, { id: '1' }, {});
    expect(reply.status).toBe(401);
  });
});

describe('the sample roads and toll gates of a local start', () => {
  /** Points near Binhe Avenue of the sample. */
  const beside = [
    { lat: 22.5258, lng: 114.0585 },
    { lat: 22.5256, lng: 114.0564 },
    { lat: 22.5254, lng: 114.054 },
  ];

  it('return roads and toll gates instead of straight lines and empty lists', async () => {
    const snapped = await call('POST', '/routes/snap-to-road', { coordinates: beside });
    expect(getData(snapped)).toMatchObject({
      provider: 'embedded',
      points: [{ matched: true, road_name: 'Binhe Avenue' }, {}, {}],
    });
    const gates = await call('GET', '/toll-gates?latitude=22.5279&longitude=114.0668&radius_km=2');
    expect(gates.body).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ highway: 'Binhe Avenue', source: 'sample' })]),
    });
    const waypoints = [
      { lat: 22.5411, lng: 114.0506 },
      { lat: 22.5279, lng: 114.0668 },
    ];
    const route = await createRecord('/routes', { name: 'Over sample roads', waypoints });
    expect(route).toMatchObject({ path_source: 'provider' });
    const along = await call('GET', `/toll-gates?route_id=${route.id}`);
    expect(along.body).toMatchObject({
      data: [{ name: 'Sample gate Shennan', distance_from_start_m: expect.any(Number) }, {}],
    });
  });
});
