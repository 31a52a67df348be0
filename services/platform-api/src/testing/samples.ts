import { type Document, type Operation, type Parameter, resolved, type Schema } from './document.ts';
import type { TenantData } from './tenant-data.ts';

/** Which record a parameter or field names, wherever it is. */
const kindOfName: Readonly<Record<string, string>> = {
  vehicleId: 'vehicle',
  vehicle_id: 'vehicle',
  vehicle_ids: 'vehicle',
  vehicles: 'vehicle',
  add_vehicles: 'vehicle',
  remove_vehicles: 'vehicle',
  driver_id: 'driver',
  drivers: 'driver',
  group_id: 'group',
  group_ids: 'group',
  groups: 'group',
  parent_group: 'group',
  default_group_id: 'group',
  geofence_id: 'geofence',
  geofence_ids: 'geofence',
  geofences: 'geofence',
  route_id: 'route',
  route_ids: 'route',
  userId: 'user',
  user_id: 'user',
  owner_user_id: 'user',
  secondary_user: 'user',
  account_id: 'account',
  order_id: 'order',
  commandId: 'command',
  deliveryId: 'delivery',
};
/** Where something is looked for, wherever it can be said. */
const placeOfName: Readonly<Record<string, string>> = { latitude: '22.5', longitude: '114.01' };
/** What names a record in another way. */
const textOfName: Readonly<Record<string, string>> = { imei: 'imei', vehicle_no: 'vehicleNo' };
const kindOfPath: Readonly<Record<string, string>> = {
  '/api/drivers': 'driver',
  '/api/users': 'user',
  '/api/api-keys': 'apiKey',
  '/api/auth/sessions': 'session',
  '/api/accounts': 'account',
  '/api/vehicle-groups': 'group',
  '/api/geofences': 'geofence',
  '/api/routes': 'route',
  '/api/notifications': 'notification',
  '/api/user-webhooks': 'webhook',
  '/api/mining-devices': 'miningDevice',
  '/api/partners': 'partner',
  '/api/support-tickets': 'ticket',
  '/api/documents': 'document',
  '/api/dashcam-media': 'media',
  '/api/subscription/orders': 'order',
};

/** The kind of record that a path parameter names; a new one has to be told of here. */
export function kindOfParameter({ method, path }: Operation, name: string): string {
  if (path.endsWith('/share-links/{slug}')) return method === 'delete' ? 'shareLink' : 'slug';
  const kind = kindOfName[name] ?? kindOfPath[path.slice(0, path.indexOf('/{'))];
  if (kind === undefined) throw new Error(`Which record does {${name}} of ${path} name?`);
  return kind;
}

const nameIn = (data: TenantData, kind: string): number | string => {
  const name = data.names[kind];
  if (name === undefined) throw new Error(`The tenants of this test have no ${kind}`);
  return name;
};

/** A request with the names of some tenant in it. */
export interface Sample {
  readonly path: string;
  readonly body: unknown;
  /** True where something in the path, the query, or the body names a record. */
  readonly names: { readonly path: boolean; readonly rest: boolean };
}

/** What a schema does not tell of a body that is taken. */
export type Bodies = Readonly<Record<string, (data: TenantData) => object>>;

/** A request of an operation: every place that can name a record names one of a tenant's (`path` of one, the rest of another). */
export function sampleOf(
  document: Document,
  operation: Operation,
  data: { path: TenantData; rest: TenantData },
  bodies: Bodies,
): Sample {
  const parts = operation.parameters.filter((parameter) => parameter.in === 'path');
  // One of some words names no record.
  const inPath = parts.filter(({ schema: { enum: words } }) => words === undefined);
  const path = parts.reduce(
    (text, { name, schema: { enum: words } }) =>
      text.replace(
        `{${name}}`,
        `${(words as string[] | undefined)?.[0] ?? nameIn(data.path, kindOfParameter(operation, name))}`,
      ),
    operation.path,
  );
  const query = operation.parameters.filter((parameter) => parameter.in === 'query');
  // A route says where, in the place of a position.
  const isOnRoute = query.some(({ name }) => name === 'route_id');
  const given = query
    .filter(({ name }) => !(isOnRoute && name in placeOfName))
    .flatMap((parameter) => queryValue(parameter, data.rest));
  const schema = operation.requestBody?.content['application/json']?.schema;
  const made = bodies[operation.operationId]?.(data.rest);
  const body = schema === undefined ? undefined : { ...(valueOf(document, schema, data.rest) as object), ...made };
  const namesRecord = ([name = '']: readonly [string?, string?]): boolean => name in kindOfName || name in textOfName;
  return {
    path: given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`,
    body,
    names: {
      path: inPath.length > 0,
      rest: given.some(namesRecord) || Object.keys(body ?? {}).some((name) => namesRecord([name])),
    },
  };
}

function queryValue({ name, required, schema, example }: Parameter, data: TenantData): [string, string][] {
  const kind = kindOfName[name] ?? textOfName[name];
  if (kind !== undefined) return [[name, String(nameIn(data, kind))]];
  const place = placeOfName[name];
  if (place !== undefined) return [[name, place]];
  return required === true ? [[name, String(example ?? schema.examples?.[0])]] : [];
}

/** A value that a schema takes: what is required, and every field that names a record. */
function valueOf(document: Document, given: Schema, data: TenantData): unknown {
  const schema = resolved(document, given);
  const [example = schema.default ?? schema.const ?? schema.enum?.[0]] = schema.examples ?? [];
  if (example !== undefined) return example;
  if (schema.anyOf !== undefined) return valueOf(document, schema.anyOf[0] ?? {}, data);
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  if (type === 'object') return objectOf(document, schema, data);
  if (type === 'array')
    return Array.from({ length: schema.minItems ?? 0 }, () => valueOf(document, schema.items ?? {}, data));
  if (type === 'string') return 'x'.repeat(Math.max(schema.minLength ?? 1, 1));
  return type === 'boolean' ? false : (schema.minimum ?? 1);
}

function objectOf(document: Document, { properties = {}, required = [] }: Schema, data: TenantData): object {
  const entries = Object.entries(properties).flatMap(([name, part]) => {
    const kind = kindOfName[name];
    if (kind !== undefined) {
      const isList = resolved(document, part).type === 'array';
      return [[name, isList ? [nameIn(data, kind)] : nameIn(data, kind)] as const];
    }
    return required.includes(name) ? [[name, valueOf(document, part, data)] as const] : [];
  });
  return Object.fromEntries(entries);
}
