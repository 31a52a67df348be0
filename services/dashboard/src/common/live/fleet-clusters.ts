import Supercluster, { type InputFeature } from 'supercluster';
import type { FleetColumns } from './fleet-columns.ts';
import {
  clusterColumn,
  clusterLength,
  criticalSeverity,
  type FleetMarks,
  type Viewport,
  vehicleStates,
} from './protocol.ts';

/** Above this number of vehicles on screen they are drawn as clusters. */
const maxSingleMarks = 300;
/** From this zoom level every vehicle has a mark of its own. */
const singleZoom = 13;
const radius = 44;

/** Numbers of the vehicles in a cluster. */
type Counts = Record<'moving' | 'idle' | 'stopped' | 'offline' | 'alarms', number>;

type Mark = Readonly<{ slot: number; state: number; hasAlarm: boolean }>;

const toCounts = ({ state, hasAlarm }: Mark): Counts => ({
  moving: vehicleStates[state] === 'moving' ? 1 : 0,
  idle: vehicleStates[state] === 'idle' ? 1 : 0,
  stopped: vehicleStates[state] === 'stopped' ? 1 : 0,
  offline: state >= vehicleStates.indexOf('offline') ? 1 : 0,
  alarms: hasAlarm ? 1 : 0,
});

function addCounts(sum: Counts, more: Readonly<Counts>): void {
  sum.moving += more.moving;
  sum.idle += more.idle;
  sum.stopped += more.stopped;
  sum.offline += more.offline;
  sum.alarms += more.alarms;
}

/** Returns the marks of the matching vehicles: single ones, and clusters where too many are on screen. */
export function createMarks(columns: FleetColumns, matched: Uint8Array, viewport: Viewport | null): FleetMarks {
  const isCrowded =
    viewport !== null && viewport.zoom < singleZoom && countInside(columns, matched, viewport.bounds) > maxSingleMarks;
  return isCrowded ? cluster(columns, matched, viewport) : { drawn: matched.slice(), clusters: new Float64Array(0) };
}

function countInside(
  columns: FleetColumns,
  matched: Uint8Array,
  [west, south, east, north]: Viewport['bounds'],
): number {
  let count = 0;
  for (let slot = 0; slot < columns.length; slot += 1) {
    if (matched[slot] !== 1 || !columns.hasPosition(slot)) continue;
    const latitude = columns.latitude[slot] ?? 0;
    // The map may show more than one copy of the world.
    const longitude = ((((columns.longitude[slot] ?? 0) - west) % 360) + 360) % 360;
    if (latitude >= south && latitude <= north && longitude <= east - west) count += 1;
  }
  return count;
}

function cluster(columns: FleetColumns, matched: Uint8Array, { bounds, zoom }: Viewport): FleetMarks {
  const index = new Supercluster<Mark, Counts>({ radius, maxZoom: singleZoom - 1, map: toCounts, reduce: addCounts });
  const features: InputFeature<Mark>[] = [];
  for (let slot = 0; slot < columns.length; slot += 1)
    if (matched[slot] === 1 && columns.hasPosition(slot))
      features.push({
        type: 'Feature',
        geometry: { type: 'Point', coordinates: [columns.longitude[slot] ?? 0, columns.latitude[slot] ?? 0] },
        properties: {
          slot,
          state: columns.state[slot] ?? 0,
          hasAlarm: columns.severity[slot] === criticalSeverity,
        },
      });
  index.load(features);
  const drawn = new Uint8Array(matched.length);
  const clusters: number[] = [];
  for (const { geometry, properties } of index.getClusters([...bounds], Math.floor(zoom)))
    if ('cluster' in properties) clusters.push(...toNumbers(geometry.coordinates, properties));
    else drawn[properties.slot] = 1;
  return { drawn, clusters: Float64Array.from(clusters) };
}

function toNumbers(
  [longitude = 0, latitude = 0]: readonly number[],
  counts: Counts & { point_count: number },
): number[] {
  const numbers = Array.from<number>({ length: clusterLength }).fill(0);
  numbers[clusterColumn.longitude] = longitude;
  numbers[clusterColumn.latitude] = latitude;
  numbers[clusterColumn.count] = counts.point_count;
  numbers[clusterColumn.moving] = counts.moving;
  numbers[clusterColumn.idle] = counts.idle;
  numbers[clusterColumn.stopped] = counts.stopped;
  numbers[clusterColumn.offline] = counts.offline;
  numbers[clusterColumn.alarms] = counts.alarms;
  return numbers;
}
