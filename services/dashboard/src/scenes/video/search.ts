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
  /** Name of a saved wall. Its tiles apply unless `tiles` differ from them. */
  readonly wall?: string;
  /** The camera that is shown large, with its main stream. */
  readonly focus?: string;
}

const cameraPattern = /^(\d{1,15})\.(\d{1,3})$/;
const maxNameLength = 60;

/** The router reads `7.1` as a number. */
const toText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

export function parseVideoSearch({ layout, tiles, wall, focus }: Record<string, unknown>): VideoSearch {
  const [tilesText, wallText, focusText] = [toText(tiles), toText(wall), toText(focus)];
  return {
    ...(layouts.includes(layout as Layout) ? { layout: layout as Layout } : {}),
    ...(tilesText === undefined ? {} : { tiles: tilesText }),
    ...(wallText === undefined || wallText.length > maxNameLength ? {} : { wall: wallText }),
    ...(focusText !== undefined && cameraPattern.test(focusText) ? { focus: focusText } : {}),
  };
}

export const formatCamera = ({ vehicleId, channelId }: Camera): string => `${vehicleId}.${channelId}`;

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
  const text = cameras.map((camera) => (camera === null ? '' : formatCamera(camera))).join(',');
  const trimmed = text.replace(/,+$/, '');
  return trimmed === '' ? undefined : trimmed;
}

/** Returns the smallest layout that shows this number of cameras. */
export const layoutFor = (count: number): Layout => layouts.find((layout) => layout >= count) ?? 16;
