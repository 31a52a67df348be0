import { type Document, type Operation, type Parameter, resolveSchema, type Schema } from './openapi-document.ts';
import type { TenantData } from './tenant-data.ts';

/** Kind of the record that a parameter or field names, in all operations. */
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
  captureId: 'capture',
  videoId: 'upload',
};
/** Positions for parameters of searches, in all operations. */
const placeOfName: Readonly<Record<string, string>> = { latitude: '22.5', longitude: '114.01' };
/** Parameters that identify or find a record by another value. */
const textOfName: Readonly<Record<string, string>> = { imei: 'imei', vehicle_no: 'vehicleNo', query: 'mark' };

/** Returns the kind that a parameter or field names; mining devices have numbers of their own. */
const kindOf = ({ path }: Operation, name: string): string | undefined =>
  name === 'imei' && path.startsWith('/api/mining-device') ? 'miningImei' : (kindOfName[name] ?? textOfName[name]);
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

/** Returns the kind of record that a path parameter names. New parameters must be added to the tables above. */
function kindOfParameter({ method, path }: Operation, name: string): string {
  if (path.endsWith('/share-links/{slug}/stream')) return 'slug';
  if (path.endsWith('/share-links/{slug}')) return method === 'delete' ? 'shareLink' : 'slug';
  const kind = kindOfName[name] ?? kindOfPath[path.slice(0, path.indexOf('/{'))];
  if (kind === undefined)
    throw new Error(`unknown kind of record for {${name}} of ${path}: add it to sample-requests.ts and tenant-data.ts`);
  return kind;
}

const nameIn = (data: TenantData, kind: string): number | string => {
  const name = data.names[kind];
  if (name === undefined) throw new Error(`the tenants of this test have no ${kind}`);
  return name;
};

/** A request with ids of a tenant. */
export interface SampleRequest {
  readonly path: string;
  readonly body: unknown;
  /** True if the path, or the query or body, names a record. */
  readonly names: { readonly path: boolean; readonly rest: boolean };
}

/** Queries and bodies of valid requests that the document does not describe, by operation. */
export interface SampleOverrides {
  readonly queries: Readonly<Record<string, (data: TenantData) => Readonly<Record<string, string>>>>;
  readonly bodies: Readonly<Record<string, (data: TenantData) => object>>;
}

/** Tenants whose ids are used in the parts of a request. */
export interface SampleTenants {
  readonly path: TenantData;
  /** Tenant of the last path parameter, if there are several; default: `path`. */
  readonly end?: TenantData;
  readonly rest: TenantData;
  /** The one optional parameter or field to fill in, '' for none. Absent: all that name records by id. */
  readonly only?: string;
}

/** Returns the optional parameters and fields of an operation that name or find records. */
export function findRecordReferences(document: Document, { parameters, requestBody }: Operation): string[] {
  const schema = requestBody?.content['application/json']?.schema;
  const fields = schema === undefined ? {} : (resolveSchema(document, schema).properties ?? {});
  const query = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  // Vehicles of different tenants may have the same vehicle_no.
  const inBody = Object.keys(fields).filter((name) => name !== 'vehicle_no');
  return [...new Set([...query, ...inBody])].filter((name) => isNaming(name));
}

/**
 * Creates a request of an operation in which every parameter and field that can name a record does so, with ids of the
 * given tenants.
 */
export function sampleRequest(
  document: Document,
  operation: Operation,
  whose: SampleTenants,
  known: SampleOverrides,
): SampleRequest {
  const { rest, only } = whose;
  const query = known.queries[operation.operationId]?.(rest);
  const given = query === undefined ? queryOf(operation, rest, only) : Object.entries(query);
  const body = bodyOf(document, operation, whose, known);
  const { path, isNamed } = pathOf(operation, whose);
  return {
    path: given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`,
    body,
    names: {
      path: isNamed,
      rest: given.some(([name]) => isNaming(name)) || Object.keys(body ?? {}).some((name) => isNaming(name)),
    },
  };
}

const isNaming = (name: string): boolean => name in kindOfName || name in textOfName;

function pathOf(operation: Operation, { path, end = path }: SampleTenants): { path: string; isNamed: boolean } {
  const parts = operation.parameters.filter((parameter) => parameter.in === 'path');
  // A parameter with an enumeration names no record.
  const inPath = parts.filter(({ schema: { enum: words } }) => words === undefined);
  const last = inPath.at(-1);
  const filled = parts.reduce((text, part) => {
    const word = ((part.schema.enum ?? []) as readonly string[]).at(0);
    const name = word ?? nameIn(part === last ? end : path, kindOfParameter(operation, part.name));
    return text.replace(`{${part.name}}`, String(name));
  }, operation.path);
  return { path: filled, isNamed: inPath.length > 0 };
}

function queryOf(operation: Operation, data: TenantData, only: string | undefined): [string, string][] {
  const query = operation.parameters.filter((parameter) => parameter.in === 'query');
  // A route replaces the position of a search.
  const isOnRoute = query.some(({ name }) => name === 'route_id') && (only === undefined || only === 'route_id');
  return query.flatMap((parameter) => {
    const { name, required } = parameter;
    if (name in placeOfName) return isOnRoute ? [] : queryValue(operation, parameter, data);
    const isWanted = only === undefined ? name !== 'query' : name === only;
    return isWanted || required === true ? queryValue(operation, parameter, data) : [];
  });
}

function bodyOf(
  document: Document,
  operation: Operation,
  { rest, only }: SampleTenants,
  { bodies }: SampleOverrides,
): object | undefined {
  const schema = operation.requestBody?.content['application/json']?.schema;
  if (schema === undefined) return undefined;
  const made = bodies[operation.operationId]?.(rest);
  if (only === undefined) return { ...(valueOf(document, schema, rest) as object), ...made };
  const { properties = {}, required = [] } = resolveSchema(document, schema);
  const requested = Object.entries(properties).filter(([name]) => required.includes(name) || name === only);
  const values = requested.map(([name, part]) => {
    const kind = kindOf(operation, name);
    return [
      name,
      kind === undefined ? valueOf(document, part, rest) : named(document, part, nameIn(rest, kind)),
    ] as const;
  });
  const [field] = values.filter(([name]) => name === only);
  return Object.fromEntries([...values, ...Object.entries(made ?? {}), ...(field === undefined ? [] : [field])]);
}

function queryValue(
  operation: Operation,
  { name, required, schema, example }: Parameter,
  data: TenantData,
): [string, string][] {
  const kind = kindOf(operation, name);
  if (kind !== undefined) return [[name, String(nameIn(data, kind))]];
  const place = placeOfName[name];
  if (place !== undefined) return [[name, place]];
  return required === true ? [[name, String(example ?? schema.examples?.[0])]] : [];
}

/** Returns the value of a field that names a record. */
const named = (document: Document, part: Schema, name: number | string): unknown =>
  resolveSchema(document, part).type === 'array' ? [name] : name;

/** Returns a value that is valid for a schema, with the required fields and every field that names a record. */
function valueOf(document: Document, given: Schema, data: TenantData): unknown {
  const schema = resolveSchema(document, given);
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
  const known = Object.entries(properties).filter(([name]) => name in kindOfName || required.includes(name));
  return Object.fromEntries(
    known.map(([name, part]) => {
      const kind = kindOfName[name];
      return [name, kind === undefined ? valueOf(document, part, data) : named(document, part, nameIn(data, kind))];
    }),
  );
}
