import type { Map as MapLibreMap } from 'maplibre-gl';
import type { LiveStore } from '../live/live-store.ts';
import { clusterColumn, clusterLength } from '../live/protocol.ts';
import { toClusterSize } from './mark-buffer.ts';
import { tileSize, toMercatorX, toMercatorY } from './mercator.ts';

/** Distance from a mark at which a click selects it. */
const hitRadiusPx = 18;

/** A vehicle by its slot, or a cluster by its center. */
export type FoundMark = { readonly slot: number } | { readonly center: [number, number] };

/** Returns the distance in pixels of a place from a point of the map. */
type Distance = (longitude: number, latitude: number) => number;

/** Returns the width of the whole world at the zoom of the map. */
export const getWorldPx = (map: MapLibreMap): number => tileSize * 2 ** map.getZoom();

/** Creates the function that returns distances from a point of the map. */
export function createDistance(map: MapLibreMap, pointX: number, pointY: number): Distance {
  const worldPx = getWorldPx(map);
  const { lng, lat } = map.getCenter();
  const { clientWidth, clientHeight } = map.getCanvas();
  const [centerX, centerY] = [toMercatorX(lng), toMercatorY(lat)];
  return (longitude, latitude) => {
    const x = toMercatorX(longitude) - centerX;
    const dx = (x - Math.round(x)) * worldPx + clientWidth / 2 - pointX;
    const dy = (toMercatorY(latitude) - centerY) * worldPx + clientHeight / 2 - pointY;
    return Math.hypot(dx, dy);
  };
}

/** Returns the mark at the point of `distanceAt`: a scan over all of them takes a fraction of a millisecond. */
export function findMark({ columns, marks }: LiveStore, distanceAt: Distance): FoundMark | null {
  const { drawn, clusters } = marks;
  let nearest: number | null = null;
  let nearestPx = hitRadiusPx;
  for (let slot = 0; slot < columns.length; slot += 1) {
    if (drawn[slot] !== 1 || !columns.hasPosition(slot)) continue;
    const distancePx = distanceAt(columns.longitude[slot] ?? 0, columns.latitude[slot] ?? 0);
    if (distancePx < nearestPx) [nearest, nearestPx] = [slot, distancePx];
  }
  return nearest === null ? findCluster(clusters, distanceAt) : { slot: nearest };
}

function findCluster(clusters: Float64Array, distanceAt: Distance): FoundMark | null {
  for (let offset = 0; offset < clusters.length; offset += clusterLength) {
    const center: [number, number] = [
      clusters[offset + clusterColumn.longitude] ?? 0,
      clusters[offset + clusterColumn.latitude] ?? 0,
    ];
    const radiusPx = toClusterSize(clusters[offset + clusterColumn.count] ?? 0) / 2;
    if (distanceAt(...center) <= radiusPx) return { center };
  }
  return null;
}
