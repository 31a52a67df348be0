export const layouts = [1, 4, 9, 16] as const;
export type Layout = (typeof layouts)[number];

/** A camera in a tile. */
export interface Camera {
  readonly vehicleId: number;
  readonly channelId: number;
}

/** State of the video wall in its address. */
export interface VideoSearch {
  readonly layout?: Layout;
  /** Cameras of the tiles in order, such as `7.1,7.2`; an empty tile is an empty item. */
  readonly tiles?: string;
}

const cameraPattern = /^(\d{1,15})\.(\d{1,3})$/;

export function parseVideoSearch({ layout, tiles }: Record<string, unknown>): VideoSearch {
  return {
    ...(layouts.includes(layout as Layout) ? { layout: layout as Layout } : {}),
    // The router reads `7.1` as a number.
    ...(typeof tiles === 'string' || typeof tiles === 'number' ? { tiles: String(tiles) } : {}),
  };
}

/** Returns the camera of each tile; null for empty tiles and invalid items. */
export function parseTiles(tiles: string | undefined, layout: Layout): (Camera | null)[] {
  const items = (tiles ?? '').split(',');
  return Array.from({ length: layout }, (_, index) => {
    const match = cameraPattern.exec(items[index] ?? '');
    return match === null ? null : { vehicleId: Number(match[1]), channelId: Number(match[2]) };
  });
}

/** Returns the text of `tiles` for the cameras; undefined for an empty wall. */
export function formatTiles(cameras: readonly (Camera | null)[]): string | undefined {
  const text = cameras.map((camera) => (camera === null ? '' : `${camera.vehicleId}.${camera.channelId}`)).join(',');
  const trimmed = text.replace(/,+$/, '');
  return trimmed === '' ? undefined : trimmed;
}

/** Returns the smallest layout that shows this number of cameras. */
export const layoutFor = (count: number): Layout => layouts.find((layout) => layout >= count) ?? 16;
