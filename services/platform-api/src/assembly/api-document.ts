import { createOpenApiDocument, type HeaderInfo, type Route, type SecurityInfo } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { PlatformRoute } from '../access/platform-route.ts';
import { permissions } from '../access/roles.ts';
import { renderPlatformError } from '../http-api/errors.ts';
import type { Deps } from '../platform/deps.ts';
import { loadConfig } from './config.ts';
import { exampleValues } from './examples/example-values.ts';
import { createPlatformRoutes } from './routes.ts';

/** Base path of all paths of the document. */
export const apiBasePath = '/api';

/** Tags of the operations, in the order of the documentation page. */
const tags = {
  'Log-in': 'Tokens of users and servers, passwords, one-time codes and two-factor authentication.',
  Account: 'The own account, its settings and its audit log.',
  Accounts: 'Accounts of customers, for operators and dealers.',
  Users: 'Users of the account and their roles.',
  'API keys': 'API keys of the account. Every call sends one beside a token.',
  Vehicles: 'Vehicles, their terminals and cameras.',
  History: 'Positions and trips of vehicles.',
  Media: 'Pictures, alarm files and clips of vehicles.',
  Drivers: 'Drivers and the vehicles that they drive.',
  'Vehicle groups': 'Groups of vehicles, which can be nested.',
  Geofences: 'Areas that vehicles enter and leave.',
  Routes: 'Planned routes of vehicles.',
  Geocoding: 'Addresses of positions, positions of addresses, and routes between positions.',
  Sharing: 'Vehicles shared with users of any account.',
  'Share links': 'Links that give anyone access to a vehicle for a limited time.',
  Realtime: 'Latest positions, and the token of the websocket.',
  Notifications: 'Notifications about vehicles, and their recipients.',
  Preferences: 'Preferences of users, and the configuration of the account.',
  Webhooks: 'Endpoints that receive notifications.',
  'Command queue': 'Commands to terminals. A command is queued until its terminal connects.',
  'Mining devices': 'Devices of mining machines, and the data that they sent.',
  Partners: 'Devices of partners: their telemetry, and commands to them.',
  Documents: 'Fields extracted from photographed or scanned documents.',
  'Toll gates': 'Toll gates near a position or along a route.',
  Subscriptions: 'Plans, payments and the billing portal.',
  'Chat log': 'Messages and calls that providers forward.',
  Dealers: 'Dealer accounts below the caller.',
  'Support tickets': 'Support requests to the operator.',
};

/** The error body of the Platform API (docs/reference/conventions.md). */
const errorSchema = Type.Object(
  {
    status: Type.Integer({ description: 'The HTTP status.', examples: [404] }),
    error: Type.String({ description: 'Description of the error, a sentence.', examples: ['There is no driver 7.'] }),
    code: Type.String({ description: 'Error code for programs.', examples: ['not_found'] }),
    request_id: Type.String({ description: "Identifies the request in the operator's logs." }),
    details: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({ description: 'JSON pointer to the faulty part.', examples: ['/name'] }),
          message: Type.String({ description: 'Description of the fault.', examples: ['is missing'] }),
        }),
        { description: 'Every fault of the request, at most 20.' },
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
  session: [{ bearer: [] }, {}],
};

const security: SecurityInfo = {
  schemes: {
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key of the account: `fk_...`.' },
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'JWT',
      description: "A user's access token, from `/api/auth/login` or `/api/auth/api-token`.",
    },
  },
  requirements: (route) => isOptional[asPlatformRoute(route).access.credentials],
};

const passwordRoutes = new Set(['openShareLink', 'openPublicShareLink', 'startSharedStream']);

function requestHeaders(route: Route): Record<string, HeaderInfo> {
  return {
    ...(asPlatformRoute(route).isIdempotent
      ? {
          'Idempotency-Key': {
            description:
              'Processes the request once. A retry with the same key and body gets the first response below 500, for 24 hours.',
            schema: Type.String({ minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' }),
          },
        }
      : {}),
    ...(412 in route.errors
      ? {
          'If-Match': {
            description: 'The version to change, as in the `ETag` of a read. Another version is 412.',
            schema: Type.String({ pattern: '^("?[1-9][0-9]{0,14}"?|\\*)$', examples: ['"7"'] }),
          },
        }
      : {}),
    ...(passwordRoutes.has(route.operationId)
      ? {
          'X-Share-Password': {
            description: 'The password of the link, if it has one.',
            schema: Type.String({ minLength: 1, maxLength: 64 }),
          },
        }
      : {}),
    ...(route.body === undefined || route.renderError !== undefined || route.bodyTypes !== undefined
      ? {}
      : {
          'X-Strict-Body': {
            description: '`true`: unknown fields are 400 instead of being ignored.',
            schema: Type.Unsafe<'true' | 'false'>({ type: 'string', enum: ['true', 'false'] }),
          },
        }),
  };
}

function accessDescription(route: Route): string {
  const { credentials, permission, scope } = asPlatformRoute(route).access;
  if (credentials === 'none') return 'Requires no credentials.';
  const roles = permissions[permission].map((role) => `\`${role}\``).join(', ');
  const key =
    credentials === 'bearer' || credentials === 'session' || scope === null
      ? ''
      : ` The key requires the scope \`${scope}\`.`;
  return `Roles: ${roles}.${key}`;
}

/** Descriptions of parameters by name, for all operations. */
const parameters = {
  id: { description: 'Id of the record.', example: 7 },
  vehicleId: { description: 'Id of the vehicle.', example: 7 },
  userId: { description: 'Id of the user.', example: 7 },
  vehicle_id: { description: 'Only records of this vehicle.' },
  driver_id: { description: 'Only records of this driver.' },
  group_id: { description: 'Only records of this group.' },
  geofence_id: { description: 'Only records of this geofence.' },
  user_id: { description: 'Only records of this user.' },
  imei: { description: "The terminal's number." },
  role: { description: 'Only users of this role.' },
  status: { description: 'Only records in this status.' },
  state: { description: 'Only vehicles in this state.' },
  type: { description: 'Only records of this type.' },
  priority: { description: 'Only records of this priority.' },
  severity: { description: 'Only notifications of this severity.' },
  slug: {
    description: 'The last path segment of the link. A deleted link has its id here.',
    example: '4fXh2mPq7RtY9wZb3NcKds',
  },
  latitude: { description: 'Degrees, WGS-84.', example: 52.52 },
  longitude: { description: 'Degrees, WGS-84.', example: 13.405 },
  channel: { description: 'Only messages of this channel.' },
  ticket: { description: 'Ticket from the URL of the billing portal.', example: 'eyJhbGciOiJFZERTQSJ9' },
  captureId: { description: 'Id of the capture.', example: '0123456789abcdef01234567' },
  commandId: { description: 'Id of the command.', example: '0123456789abcdef01234567' },
  deliveryId: { description: 'Id of the delivery.', example: '0123456789abcdef01234567' },
  gateway: { description: 'The payment gateway.' },
  provider: { description: 'The provider that sends the request.' },
};

// The handlers are never called, so the routes need only the settings.
const declared = (): Deps => ({ config: loadConfig({}) }) as Deps;

/** Returns the route table without the dependencies of its handlers. */
export const declaredRoutes = (): readonly PlatformRoute[] => createPlatformRoutes(declared());

/** Returns the OpenAPI document of the Platform API, which is the same for every configuration. */
export function apiDocument(): Record<string, unknown> {
  const routes = declaredRoutes();
  const used = new Set(routes.flatMap((route) => route.tags ?? []));
  return createOpenApiDocument(
    {
      title: 'Platform API',
      version: '1.0.0',
      description: [
        "The fleet's records: accounts, users, vehicles, drivers, groups, geofences, routes, sharing, notifications, webhooks and integrations.",
        'Calls carry two headers of one account: `x-api-key` and `Authorization: Bearer`. Every record belongs to an account. A record of another account, or one that is not visible to the caller, is 404.',
        'POST and PUT bodies may be wrapped as `{"data": {...}}`. A PUT changes the fields that it contains. null clears a field, and lists are replaced as a whole. Unknown fields are ignored and listed in `meta.ignored_fields`, or 400 with `X-Strict-Body: true`.',
        'Lists accept `limit` (50, at most 200) and `offset`, or `page`. A page past the end is empty. Times are RFC 3339 in UTC. Every response carries `X-Request-Id`; 429 carries `Retry-After`, in seconds.',
        'With the header `X-Account-Id`, staff of the operator act in another account, and dealers read in the accounts below theirs.',
      ].join('\n\n'),
      basePath: apiBasePath,
      tags: Object.fromEntries(Object.entries(tags).filter(([name]) => used.has(name))),
      errorSchema,
      security,
      requestHeaders: requestHeaders,
      parameters,
      remark: accessDescription,
      exampleValues,
      renderError: renderPlatformError,
    },
    routes,
  );
}
