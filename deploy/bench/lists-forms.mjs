// The lists of the Platform API, and the forms in which `lists.mjs` calls each.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dayMs } from './lists-account.mjs';
import { copyId } from './lists-data.mjs';
import { isoBefore, monthForm, nowMs, only, root, vehicleId } from './lists-settings.mjs';

const recordDate = (date) => `${date.getUTCDate()}/${date.getUTCMonth() + 1}/${date.getUTCFullYear()}`;
/** Returns the value of a path parameter; `listSharedVehicles` takes the id of the guest. */
export const pathValue = ({ operationId, path }, { webhookId }) => {
  if (operationId === 'listSharedVehicles') return copyId(0, 0);
  if (path.includes('user-webhooks')) return webhookId;
  return path.includes('vehicle-groups') ? copyId(0, 0) : vehicleId;
};

/** Filter values by parameter name; other parameters use the first value of their schema's enum. */
const filterValues = {
  query: '12',
  from: isoBefore(7),
  to: isoBefore(1),
  type: 'sos',
  action: 'auth.login',
  vehicle_id: String(vehicleId),
  group_id: String(copyId(0, 3)),
  driver_id: String(copyId(0, 7)),
  imei: '100000000007',
  bbox: '22,113,23,115',
  record_date: recordDate(new Date(nowMs - 2 * dayMs)),
  channel_id: '1',
  active: 'true',
};
const ownFilterValues = {
  listAuditLog: { user_id: undefined },
  listTollGates: {
    state: 'California',
    latitude: undefined,
    longitude: undefined,
    radius_km: undefined,
    route_id: undefined,
  },
  listDeliveries: { type: 'sos' },
  listGeofences: { type: 'circle' },
  listCommands: { type: 'text' },
};
const notLists = new Set(['geocode', 'suggestAddresses', 'openShareLink']);

/** Returns all lists of the API document with their forms: names and queries. */
export function findLists({ userId }) {
  const document = JSON.parse(readFileSync(join(root, 'services', 'platform-api', 'openapi.json'), 'utf8'));
  const found = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { operationId, parameters = [] }] of Object.entries(methods)) {
      const query = parameters.filter((parameter) => parameter.in === 'query');
      const isList = query.some(({ name }) => name === 'limit') || operationId === 'listVehicleTrips';
      const isPosted = path.endsWith('/list');
      if (notLists.has(operationId) || !((method === 'get' && isList) || isPosted)) continue;
      const forms = [['first page', {}]];
      if (query.some(({ name }) => name === 'offset') || isPosted) forms.push(['last page', { isLast: true }]);
      for (const { name, schema } of query) {
        if (['limit', 'offset', 'page', 'to', 'simplify_m', 'format'].includes(name)) continue;
        const words = schema.enum?.filter((word) => word !== '');
        if (name === 'sort') {
          for (const sort of words.filter((word) => !word.startsWith('-'))) forms.push([`sort=${sort}`, { sort }]);
          continue;
        }
        const own = ownFilterValues[operationId] ?? {};
        const value =
          name in own ? own[name] : name === 'user_id' ? String(userId) : (filterValues[name] ?? words?.[0]);
        if (value === undefined) continue;
        const filter = name === 'from' ? { from: filterValues.from, to: filterValues.to } : { [name]: value };
        forms.push([Object.keys(filter).join(' and '), filter]);
      }
      if (operationId === 'listTollGates') forms.push(['around a position', { latitude: 22.5, longitude: 114 }]);
      if (operationId === 'listVehicleTrips' || operationId === 'listVehicleLocations')
        forms.push([monthForm, { from: isoBefore(30), to: isoBefore(0) }]);
      if (operationId === 'listNotifications')
        forms.push(
          ['type and last page', { type: 'sos', isLast: true }],
          [
            'types, severity, from and to',
            {
              type: 'sos,overspeed',
              severity: 'critical',
              from: filterValues.from,
              to: filterValues.to,
            },
          ],
        );
      found.push({ operationId, path, method, forms });
    }
  return found.filter(({ operationId }) => only.test(operationId));
}
