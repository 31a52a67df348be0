import type { AddProtocolAction } from 'maplibre-gl';
import { findGcj02Shift, type TilePlace } from './gcj02.ts';

/** Protocol of tiles of images that have GCJ-02 coordinates. */
export const gcj02Protocol = 'gcj02';

/** Returns the URL of tiles for MapLibre, which replaces the placeholders in front of the template. */
export const toGcj02Url = (template: string): string =>
  `${gcj02Protocol}://{z}/{x}/{y}/${encodeURIComponent(template)}`;

/** Parses a URL of `toGcj02Url` in which MapLibre replaced the placeholders. */
function parseUrl(url: string): { readonly tile: TilePlace; readonly template: string } {
  const [z = '', x = '', y = '', template = ''] = url.slice(`${gcj02Protocol}://`.length).split('/');
  return { tile: { z: Number(z), x: Number(x), y: Number(y) }, template: decodeURIComponent(template) };
}

async function loadImage(template: string, { z, x, y }: TilePlace, signal: AbortSignal): Promise<ImageBitmap | null> {
  const url = template.replaceAll('{z}', String(z)).replaceAll('{x}', String(x)).replaceAll('{y}', String(y));
  const response = await fetch(url, { signal });
  // A provider has no tile where it has no data.
  if (response.status === 404 || response.status === 204) return null;
  if (!response.ok) throw new Error(`The map responded with ${response.status}.`);
  return createImageBitmap(await response.blob());
}

/** Returns the tiles that cover a moved tile, and where each is drawn, in widths of a tile. */
function findParts({ z, x, y }: TilePlace, [east, south]: readonly [number, number]) {
  const [left, top] = [x + east, y + south];
  const parts: { tile: TilePlace; left: number; top: number }[] = [];
  for (let row = Math.floor(top); row < top + 1; row += 1)
    for (let column = Math.floor(left); column < left + 1; column += 1)
      parts.push({ tile: { z, x: column, y: row }, left: column - left, top: row - top });
  return parts;
}

/**
 * Loads a tile of a GCJ-02 map for its place in WGS 84: joins the up to four tiles that cover it. All other data of the
 * page stays in WGS 84.
 */
export const loadGcj02Tile: AddProtocolAction = async ({ url }, { signal }) => {
  const { tile, template } = parseUrl(url);
  const parts = findParts(tile, findGcj02Shift(tile));
  const images = await Promise.all(parts.map((part) => loadImage(template, part.tile, signal)));
  const size = images.find((image) => image !== null)?.width ?? 1;
  const context = new OffscreenCanvas(size, size).getContext('2d');
  if (context === null) throw new Error('This browser cannot draw the tiles of the map.');
  for (const [index, { left, top }] of parts.entries()) {
    const image = images[index];
    if (image) context.drawImage(image, Math.round(left * size), Math.round(top * size));
    image?.close();
  }
  return { data: context.canvas.transferToImageBitmap() };
};
