import { getRouteApi } from '@tanstack/react-router';
import {
  type Camera,
  formatCamera,
  formatTiles,
  type Layout,
  layoutFor,
  parseTiles,
  type VideoSearch,
} from './search.ts';
import type { Wall } from './walls.ts';

const route = getRouteApi('/app/video');
const defaultLayout = 4;
const maxTiles = 16;

export const isSameCamera = (one: Camera | null, other: Camera): boolean =>
  one?.vehicleId === other.vehicleId && one.channelId === other.channelId;

/** Returns the cameras of the wall, which are in the address or in the saved wall that it names, and functions that change them. */
export function useWall(walls: readonly Wall[]) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const saved = walls.find(({ name }) => name === search.wall);
  const tiles = search.tiles ?? saved?.tiles;
  const all = parseTiles(tiles, maxTiles);
  const used = all.filter((camera) => camera !== null);
  const layout =
    search.layout ?? saved?.layout ?? (used.length > defaultLayout ? layoutFor(used.length) : defaultLayout);
  const go = (changed: VideoSearch): void => void navigate({ search: changed, replace: true });
  const show = (cameras: readonly (Camera | null)[], next: Layout = layout): void => {
    const { wall } = search;
    // An empty text differs from the tiles of the saved wall.
    const text = formatTiles(cameras.slice(0, next)) ?? (saved === undefined ? undefined : '');
    go({ layout: next, ...(text === undefined ? {} : { tiles: text }), ...(wall === undefined ? {} : { wall }) });
  };
  const remove = (camera: Camera): void => show(all.map((visible) => (isSameCamera(visible, camera) ? null : visible)));
  const add = (camera: Camera): void => {
    const free = all.findIndex((visible) => visible === null);
    const cameras = all.map((visible, index) => (index === free ? camera : visible));
    show(cameras, free < layout ? layout : layoutFor(free + 1));
  };
  const focused = all.slice(0, layout).find((camera) => camera !== null && formatCamera(camera) === search.focus);
  return {
    layout,
    tiles: tiles ?? '',
    cameras: all.slice(0, layout),
    /** The camera that is shown large; null if there is none. */
    focused: focused ?? null,
    saved: saved ?? null,
    isChanged: saved !== undefined && (saved.layout !== layout || saved.tiles !== (tiles ?? '')),
    setLayout: (next: Layout) => show([...used, ...Array.from({ length: maxTiles }, () => null)], next),
    clear: () => show([]),
    open: (wall: string | undefined) => go(wall === undefined ? {} : { wall }),
    remove,
    toggle: (camera: Camera) => (all.some((visible) => isSameCamera(visible, camera)) ? remove(camera) : add(camera)),
    focus: (camera: Camera | null) => {
      const { focus: _before, ...others } = search;
      go(camera === null ? others : { ...others, focus: formatCamera(camera) });
    },
  };
}
