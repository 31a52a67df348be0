/** The only zoom level of the coasts. MapLibre enlarges its tiles. */
export const coastZoom = 5;

/** Offset and length of each tile after the index, by `x/y`. */
type TileIndex = Readonly<Record<string, readonly [offset: number, length: number]>>;

const lengthBytes = 4;

/**
 * Joins tiles to one file, which the server sends compressed: PMTiles need range requests. Contains the length of the
 * index, the index as JSON, and the tiles one after another.
 */
export function joinTiles(tiles: ReadonlyMap<string, Uint8Array>): Uint8Array {
  const index: Record<string, [number, number]> = {};
  let offset = 0;
  for (const [name, { length }] of tiles) {
    index[name] = [offset, length];
    offset += length;
  }
  const json = new TextEncoder().encode(JSON.stringify(index));
  const archive = new Uint8Array(lengthBytes + json.length + offset);
  new DataView(archive.buffer).setUint32(0, json.length);
  archive.set(json, lengthBytes);
  for (const [name, tile] of tiles) archive.set(tile, lengthBytes + json.length + (index[name]?.[0] ?? 0));
  return archive;
}

/** Reads tiles from a file of `joinTiles`. */
export class CoastArchive {
  readonly #archive: ArrayBuffer;
  readonly #index: TileIndex;
  readonly #start: number;

  constructor(archive: ArrayBuffer) {
    this.#archive = archive;
    this.#start = lengthBytes + new DataView(archive).getUint32(0);
    this.#index = JSON.parse(new TextDecoder().decode(archive.slice(lengthBytes, this.#start))) as TileIndex;
  }

  /** Returns a copy of a tile; an empty one where there is only sea. */
  getTile(x: number, y: number): ArrayBuffer {
    const [offset, length] = this.#index[`${x}/${y}`] ?? [0, 0];
    return this.#archive.slice(this.#start + offset, this.#start + offset + length);
  }
}
