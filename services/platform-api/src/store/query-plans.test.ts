import { randomBytes } from 'node:crypto';
import { WebhookRepository } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { isPermitted } from '../access/roles.ts';
import { declaredRoutes } from '../assembly/api-document.ts';
import { startFakeDispatcher } from '../testing/fake-dispatcher.ts';
import { type Operation, operationsOf, type Parameter, readDocument } from '../testing/openapi-document.ts';
import { type Client, PlatformHarness } from '../testing/platform-harness.ts';
import { findRecordReferences, sampleRequest } from '../testing/sample-requests.ts';
import { makeTenantData, type TenantData } from '../testing/tenant-data.ts';

// Covers every list of the document over a real service, which takes long on a busy machine.
jest.setTimeout(300_000);

/** A command as sent by the driver. */
interface Command {
  readonly body: Readonly<Record<string, unknown>>;
}

/** A stage of a plan as explained by MongoDB. */
interface Stage {
  readonly stage: string;
  readonly inputStage?: Stage;
  readonly inputStages?: readonly Stage[];
}

/** Lists that are served without a query. */
const withoutQuery = new Set(['geocode', 'suggestAddresses', 'listPlans', 'listNotificationTypes']);

const document = readDocument();
const routes = new Map(declaredRoutes().map((route) => [route.operationId, route]));
const isPaged = ({ method, path, parameters }: Operation): boolean =>
  (method === 'get' && parameters.some(({ name }) => name === 'limit')) ||
  (method === 'post' && path.endsWith('/list'));
const isTrips = ({ operationId }: Operation): boolean => operationId === 'listVehicleTrips';
const lists = operationsOf(document)
  .filter((operation) => isPaged(operation) || isTrips(operation))
  .filter(({ operationId }) => !withoutQuery.has(operationId));

/** Values of filters that neither name a record nor have an enumeration. */
const valueOfName: Readonly<Record<string, string>> = {
  from: new Date(Date.now() - 3_600_000).toISOString(),
  to: new Date().toISOString(),
  record_date: '1/1/2026',
  bbox: '22,113,23,115',
  action: 'auth.login',
  type: 'sos',
  channel_id: '1',
  active: 'true',
  acknowledged: 'false',
  state: 'moving',
  address: 'true',
  stops: 'true',
};
/** Parameters that are not filters. */
const notFilters = new Set(['limit', 'offset', 'page', 'sort', 'simplify_m', 'format', 'radius_km', 'longitude']);

let harness: PlatformHarness;
let guest: Client;
let operator: Client;
let ours: TenantData;
const sent: Command[] = [];

beforeAll(async () => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/list_plans_${randomBytes(6).toString('hex')}`;
  url.searchParams.set('monitorCommands', 'true');
  harness = await PlatformHarness.open({ MONGODB_URL: url.href });
  startFakeDispatcher(harness.bus);
  ours = await makeTenantData(harness, harness.ours, 'OURMARK');
  const theirs = await makeTenantData(harness, harness.theirs, 'THEIRMARK');
  const user = await harness.user('viewer');
  const share = { secondary_user: user.id, vehicles: [theirs.names['vehicle']] };
  await harness.as(harness.theirs.owner).post('/api/vehicle/share-vehicles', share);
  guest = harness.as(user);
  operator = harness.as(await harness.user('superadmin'));
  await new WebhookRepository(harness.deps.database).ensureIndexes();
  harness.deps.database.db.client.on('commandStarted', ({ commandName, command }) => {
    if (!['find', 'aggregate', 'count'].includes(commandName)) return;
    const { lsid: _session, $db: _database, $clusterTime: _time, ...body } = command as Record<string, unknown>;
    sent.push({ body });
  });
});
afterAll(() => harness?.close());

/** Returns the winning plan, or undefined if the server does not explain in MongoDB's format. */
async function explain({ body }: Command): Promise<Stage | undefined> {
  const explained = await harness.deps.database.db.command({ explain: body, verbosity: 'queryPlanner' });
  const [first] = (explained['stages'] ?? []) as { $cursor?: object }[];
  const { queryPlanner } = (first?.$cursor ?? explained) as { queryPlanner?: { winningPlan?: Stage } };
  return queryPlanner?.winningPlan;
}

const flattenStages = ({ stage, inputStage, inputStages = [] }: Stage): string[] => [
  stage,
  ...[...(inputStage === undefined ? [] : [inputStage]), ...inputStages].flatMap(flattenStages),
];

/** The driver represents the order of a query as a map. */
const toText = (body: object): string =>
  JSON.stringify(body, (_key, value) => (value instanceof Map ? Object.fromEntries(value) : value) as unknown);

/** Sends a request and returns its queries with the stages of their plans. */
async function collectPlans(client: Client, { method }: Operation, path: string, body?: object) {
  sent.length = 0;
  const response = await (method === 'post' ? client.post(path, body) : client.get(path));
  if (response.status !== 200) throw new Error(`${path}: ${JSON.stringify(response.body)}`);
  const plans: { query: string; stages: string[] }[] = [];
  for (const command of sent.splice(0)) {
    const plan = await explain(command);
    if (plan !== undefined) plans.push({ query: toText(command.body), stages: flattenStages(plan) });
  }
  return plans;
}

function clientFor({ operationId }: Operation): Client {
  if (operationId === 'listUnassignedDevices') return operator;
  const permission = routes.get(operationId)?.access.permission ?? 'read';
  return harness.as(isPermitted('owner', permission) ? ours.tenant.owner : ours.dealer);
}

const withQuery = (path: string, query: Readonly<Record<string, string>>): string => {
  const url = new URL(path, 'http://local');
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.pathname + url.search;
};

const samplePath = (operation: Operation, only: string): string =>
  sampleRequest(document, operation, { path: ours, rest: ours, only }, { queries: {}, bodies: {} }).path;

/** Returns the path of the first page; no query parameter of a list is required. */
const plainPath = (operation: Operation): string => samplePath(operation, '').split('?')[0] ?? '';

interface Request {
  readonly path: string;
  readonly body?: object;
}

/** A list requested by POST has its filters in the body. */
const filteredRequests = (operation: Operation): Request[] =>
  operation.method === 'post'
    ? [{ path: operation.path, body: { query: '1', filters: { seen_since: valueOfName['from'] } } }]
    : filteredPaths(operation).map((path) => ({ path }));

/** Returns the paths of a list with each of its filters. */
function filteredPaths(operation: Operation): string[] {
  const naming = new Set(findRecordReferences(document, operation));
  const plain = plainPath(operation);
  const own = operation.parameters.filter(({ in: place, name }) => place === 'query' && !notFilters.has(name));
  return own.flatMap((parameter) => {
    const { name } = parameter;
    if (name === 'latitude') return [withQuery(plain, { latitude: '22.5', longitude: '114.01' })];
    if (naming.has(name)) return [samplePath(operation, name)];
    return [withQuery(plain, { [name]: sampleValue(parameter) })];
  });
}

function sampleValue({ name, schema }: Parameter): string {
  const [word] = (schema.enum ?? []).filter((each) => each !== '');
  const value = typeof word === 'string' ? word : valueOfName[name];
  if (value === undefined) throw new Error(`Add a value for the filter ${name} to valueOfName.`);
  return value;
}

const skipped = "this server does not explain plans in MongoDB's format, skipped the check of lists";
/** The queries need documents: without any, or with a condition that none can match, nothing is sorted. */
const isSorting = ({ query, stages }: { query: string; stages: readonly string[] }): boolean =>
  stages.includes('SORT') && !stages.includes('EOF') && !query.includes('{"$in":[]}');
const isScan = ({ stages }: { stages: readonly string[] }): boolean => stages.includes('COLLSCAN');

describe.each(lists.map((operation) => [operation.operationId, operation] as const))('list %s', (_id, operation) => {
  it('reads its first page from indexes, in their order', async () => {
    const body = operation.method === 'post' ? {} : undefined;
    const plans = await collectPlans(clientFor(operation), operation, plainPath(operation), body);
    if (plans.length === 0) console.log(skipped);
    expect(plans.filter((plan) => isScan(plan) || isSorting(plan))).toEqual([]);
  });

  it('reads each filtered page from indexes', async () => {
    const client = clientFor(operation);
    const scans = [];
    for (const { path, body } of filteredRequests(operation))
      for (const plan of await collectPlans(client, operation, path, body))
        if (isScan(plan)) scans.push({ path, ...plan });
    expect(scans).toEqual([]);
  });
});

describe('shared vehicles', () => {
  it.each(['/api/vehicles', '/api/notifications'])('reads shared and own vehicles from indexes: %s', async (path) => {
    const [operation] = lists.filter((each) => each.path === path) as [Operation];
    const plans = await collectPlans(guest, operation, path);
    expect(plans.filter((plan) => isScan(plan) || isSorting(plan))).toEqual([]);
  });
});
