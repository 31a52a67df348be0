import { createOpenApiDocument, type HeaderInfo, type Route, type SecurityInfo } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { PlatformRoute } from '../access/platform-route.ts';
import { permissions } from '../access/roles.ts';
import type { Deps } from '../platform/deps.ts';
import { loadConfig } from './config.ts';
import { createPlatformRoutes } from './routes.ts';

/** Below this are all paths of the document. */
export const apiBasePath = '/api';

/** What the routes are about, in the order in which pages show them. */
const tags = {
  'Log-in': 'Tokens of people and servers, passwords, one-time codes, two-factor.',
  Account: 'The own account, what it asks for and what was done in it.',
  Accounts: 'Accounts of customers, for operators and dealers.',
  Users: 'People of the account and what they may do.',
  'API keys': 'Keys of the account, which every call carries beside a token.',
  Vehicles: 'Vehicles, their terminals and cameras.',
  History: 'Where vehicles have been, and their trips.',
  Media: 'Pictures, files of alarms and clips of vehicles.',
  Drivers: 'Drivers and the vehicles that they drive.',
  'Vehicle groups': 'Groups of vehicles, which may have groups in them.',
  Geofences: 'Areas that vehicles enter and leave.',
  Routes: 'Ways that vehicles are to take.',
  Geocoding: 'Addresses of positions, positions of addresses, ways between them.',
  Sharing: 'Vehicles that users of any account may see.',
  'Share links': 'Links by which anybody may see a vehicle for a time.',
  Realtime: 'Newest positions, and the token of the websocket.',
  Notifications: 'What happened to vehicles, and who is told.',
  Preferences: "A user's preferences, and the configuration of the account.",
  Webhooks: 'Where notifications are sent to.',
  'Command queue': 'Commands to terminals, which wait until a terminal is there.',
  'Mining devices': 'Devices of mining machines and what they have sent.',
  Partners: 'Devices of partners: what they send, and commands to them.',
  Documents: 'Fields of photographed or scanned documents.',
  'Toll gates': 'Toll gates near a place or on a way.',
  Subscriptions: 'Plans, payments and the billing portal.',
  'Chat log': 'Messages and calls that providers hand on.',
  Dealers: 'Resellers below the caller.',
  'Support tickets': 'Questions to the operator.',
};

/** The error body of the Platform API (docs/reference/conventions.md). */
export const errorSchema = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.', examples: [404] }),
    error: Type.String({ description: 'What is wrong, in a sentence.', examples: ['There is no driver 7.'] }),
    code: Type.String({ description: 'The same as a word for programs.', examples: ['not_found'] }),
    request_id: Type.String({ description: 'By which the operator finds the request in the logs.' }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({ description: 'JSON pointer to the faulty part.', examples: ['/name'] }),
          message: Type.String({ description: 'What is wrong with it.', examples: ['is missing'] }),
        }),
        { description: 'Every fault of the request, 20 at most.' },
      ),
    ),
  },
  { title: 'ApiError' },
);

const asPlatformRoute = (route: Route): PlatformRoute => route as PlatformRoute;

const bothCredentials = { apiKey: [], bearer: [] };
const isOptional: Readonly<Record<PlatformRoute['access']['credentials'], ReturnType<SecurityInfo['requirements']>>> = {
  both: [bothCredentials],
  bearer: [{ bearer: [] }],
  key: [{ apiKey: [] }],
  none: [],
  either: [bothCredentials, {}],
};

const security: SecurityInfo = {
  schemes: {
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'A key of the account: `fk_...`.' },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: "A user's access token, from `/api/auth/login` or `/api/auth/api-token`.",
    },
  },
  requirements: (route) => isOptional[asPlatformRoute(route).access.credentials],
};

const passwordRoutes = new Set(['openShareLink', 'openPublicShareLink']);

function requestHeaders(route: Route): Record<string, HeaderInfo> {
  return {
    ...(asPlatformRoute(route).isIdempotent
      ? {
          'Idempotency-Key': {
            description:
              'Does the request once: a repetition with the same key and body gets the first response below 500, for 24 hours.',
            schema: Type.String({ minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' }),
          },
        }
      : {}),
    ...(412 in route.errors
      ? {
          'If-Match': {
            description: 'The version that is to be changed, as in the `ETag` of a read: 412 where it is another one.',
            schema: Type.String({ pattern: '^("?[1-9][0-9]{0,14}"?|\\*)$', examples: ['"7"'] }),
          },
        }
      : {}),
    ...(passwordRoutes.has(route.operationId)
      ? {
          'X-Share-Password': {
            description: 'The password of the link, where it has one.',
            schema: Type.String({ minLength: 1, maxLength: 64 }),
          },
        }
      : {}),
    ...(route.body === undefined || route.renderError !== undefined || route.bodyTypes !== undefined
      ? {}
      : {
          'X-Strict-Body': {
            description: '`true`: fields that are not known are 400, instead of being ignored.',
            schema: Type.Unsafe<'true' | 'false'>({ type: 'string', enum: ['true', 'false'] }),
          },
        }),
  };
}

function accessDescription(route: Route): string {
  const { credentials, permission, scope } = asPlatformRoute(route).access;
  if (credentials === 'none') return 'Asks for no credentials.';
  const roles = permissions[permission].map((role) => `\`${role}\``).join(', ');
  const key = credentials === 'bearer' || scope === null ? '' : ` The key needs the scope \`${scope}\`.`;
  return `Roles: ${roles}.${key}`;
}

/** What parameters of these names are, wherever they are. */
const parameters = {
  id: { description: 'Id of the record.', example: 7 },
  vehicleId: { description: 'Id of the vehicle.', example: 7 },
  userId: { description: 'Id of the user.', example: 7 },
  vehicle_id: { description: 'Only what belongs to this vehicle.' },
  driver_id: { description: 'Only what belongs to this driver.' },
  group_id: { description: 'Only what belongs to this group.' },
  geofence_id: { description: 'Only what belongs to this geofence.' },
  user_id: { description: 'Only what belongs to this user.' },
  imei: { description: "The terminal's number." },
  role: { description: 'Only users of this role.' },
  status: { description: 'Only records in this status.' },
  state: { description: 'Only vehicles in this state.' },
  type: { description: 'Only records of this type.' },
  priority: { description: 'Only records of this priority.' },
  severity: { description: 'Only notifications of this severity.' },
  slug: {
    description: 'The part of the link behind the last slash; its id where it is deleted.',
    example: '4fXh2mPq7RtY9wZb3NcKds',
  },
  latitude: { description: 'Degrees, WGS-84.', example: 52.52 },
  longitude: { description: 'Degrees, WGS-84.', example: 13.405 },
  channel: { description: 'Only messages of this channel.' },
  ticket: { description: 'From the address of the billing portal.', example: 'eyJhbGciOiJFZERTQSJ9' },
  commandId: { description: 'Id of the command.', example: '0123456789abcdef01234567' },
  deliveryId: { description: 'Id of the delivery.', example: '0123456789abcdef01234567' },
  gateway: { description: 'Who takes the payment.' },
  provider: { description: 'Who sends it.' },
};

// Rows are declared, never called: nothing but the settings is looked at.
const declared = (): Deps => ({ config: loadConfig({}) }) as Deps;

/** The route table without what it works with: rows to look at. */
export const declaredRoutes = (): readonly PlatformRoute[] => createPlatformRoutes(declared());

/** The OpenAPI document of the Platform API; the same for every configuration. */
export function apiDocument(): Record<string, unknown> {
  const routes = declaredRoutes();
  const used = new Set(routes.flatMap((route) => route.tags ?? []));
  return createOpenApiDocument(
    {
      title: 'Platform API',
      version: '1.0.0',
      description: [
        "The fleet's records: accounts, users, vehicles, drivers, groups, geofences, routes, sharing, notifications, webhooks and integrations.",
        'Calls carry two headers, of one account: `x-api-key` and `Authorization: Bearer`. Every record belongs to an account; what belongs to another one, or is not visible to the caller, is 404.',
        'POST and PUT bodies may be wrapped as `{"data": {...}}`. A PUT changes the fields that it has; null clears a field, lists are replaced whole. Unknown fields are ignored and listed in `meta.ignored_fields`, or 400 with `X-Strict-Body: true`.',
        'Lists take `limit` (50, at most 200) and `offset`, or `page`; a page past the end is empty. Times are RFC 3339 in UTC. Every answer carries `X-Request-Id`; 429 carries `Retry-After`, in seconds.',
        'Staff of the operator act in another account, and dealers read in those below theirs, with the header `X-Account-Id`.',
      ].join('\n\n'),
      basePath: apiBasePath,
      tags: Object.fromEntries(Object.entries(tags).filter(([name]) => used.has(name))),
      errorSchema,
      security,
      requestHeaders: requestHeaders,
      parameters,
      remark: accessDescription,
    },
    routes,
  );
}
