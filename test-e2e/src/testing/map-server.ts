import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32, deflateSync } from 'node:zlib';
import type { Color } from './read-pixels.ts';

function createChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(data.length + 12);
  chunk.writeUInt32BE(data.length, 0);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, data.length + 8)), data.length + 8);
  return chunk;
}

/** Returns a PNG image of one colour, 256 pixels wide and high. */
function createPng(color: Color): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(256, 0);
  header.writeUInt32BE(256, 4);
  // 8 bits of red, green and blue.
  header.set([8, 2], 8);
  const row = Buffer.concat([Buffer.of(0), ...Array.from({ length: 256 }, () => Buffer.from(color))]);
  const rows = Buffer.concat(Array.from({ length: 256 }, () => row));
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const chunks = [
    createChunk('IHDR', header),
    createChunk('IDAT', deflateSync(rows)),
    createChunk('IEND', Buffer.alloc(0)),
  ];
  return Buffer.concat([signature, ...chunks]);
}

/** Returns bytes with their field number and length, as in Protocol Buffers. All lengths are below 128. */
const field = (id: number, bytes: readonly number[]): number[] => [id * 8 + 2, bytes.length, ...bytes];
const zigzag = (value: number): number => (value << 1) ^ (value >> 31);

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return [...bytes, rest];
}

/** Returns a vector tile whose layer `earth` covers it. */
function createVectorTile(): Buffer {
  const extent = 4096;
  const line = [extent, 0, 0, extent, -extent, 0].map(zigzag).flatMap(varint);
  const geometry = [9, 0, 0, (3 << 3) | 2, ...line, 15];
  const feature = [3 * 8, 3, ...field(4, geometry)];
  const layer = [15 * 8, 2, ...field(1, [...Buffer.from('earth')]), ...field(2, feature), 5 * 8, ...varint(extent)];
  return Buffer.from(field(3, layer));
}

const archiveHeaderBytes = 127;

/** Returns a PMTiles archive (version 3) with one image for the whole world. */
function createArchive(image: Buffer): Buffer {
  // One entry: the tile 0 once, its length, and its offset plus one.
  const directory = Buffer.from([1, 0, 1, ...varint(image.length), 1]);
  const metadata = Buffer.from('{}');
  const header = Buffer.alloc(archiveHeaderBytes);
  header.write('PMTiles\x03', 0, 'latin1');
  const metadataOffset = archiveHeaderBytes + directory.length;
  const tileOffset = metadataOffset + metadata.length;
  const places = [
    archiveHeaderBytes,
    directory.length,
    metadataOffset,
    metadata.length,
    0,
    0,
    tileOffset,
    image.length,
  ];
  for (const [index, value] of [...places, 1, 1, 1].entries()) header.writeBigUInt64LE(BigInt(value), 8 + index * 8);
  // Clustered, nothing compressed, PNG, zoom 0 to 0.
  header.set([1, 1, 1, 2, 0, 0], 96);
  for (const [index, degrees] of [-180, -85, 180, 85].entries()) header.writeInt32LE(degrees * 1e7, 102 + index * 4);
  return Buffer.concat([header, directory, metadata, image]);
}

/** Colours of what the server offers. */
export const mapColors = {
  west: [200, 30, 30],
  east: [30, 160, 30],
  archive: [30, 30, 200],
  style: [160, 40, 160],
} as const satisfies Record<string, Color>;

/** A provider of base maps: tiles of images, vector tiles, a PMTiles archive and a style. Each has colours of its own. */
export class MapServer {
  /** Paths of all requests. */
  readonly paths: string[] = [];
  readonly #server: Server;
  readonly #west = createPng(mapColors.west);
  readonly #east = createPng(mapColors.east);
  readonly #styleTile = createPng(mapColors.style);
  readonly #vectorTile = createVectorTile();
  readonly #archive = createArchive(createPng(mapColors.archive));

  private constructor() {
    this.#server = createServer((request, response) => this.#respond(request, response));
  }

  static async open(): Promise<MapServer> {
    const server = new MapServer();
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #respond({ method, url = '', headers }: IncomingMessage, response: ServerResponse): void {
    response.setHeader('Access-Control-Allow-Origin', '*').setHeader('Access-Control-Allow-Headers', '*');
    if (method === 'OPTIONS') return void response.writeHead(204).end();
    this.paths.push(url);
    const [, kind = '', , x = '0'] = url.split('/');
    if (kind === 'world.pmtiles') return sendRange(response, this.#archive, headers.range);
    if (kind === 'style.json') return void response.end(JSON.stringify(style));
    if (kind === 'style-tiles') return void response.end(this.#styleTile);
    if (kind === 'vector') return void response.end(this.#vectorTile);
    if (kind === 'raster') return void response.end(this.#west);
    // `halves-<column>` has another colour from that column on.
    const [name, column] = kind.split('-');
    if (name === 'halves') return void response.end(Number(x) < Number(column) ? this.#west : this.#east);
    response.writeHead(500).end();
  }
}

/** Names its tiles relative to itself, as many tile servers do. */
const style = {
  version: 8,
  sources: { tiles: { type: 'raster', tiles: ['style-tiles/{z}/{x}/{y}.png'], tileSize: 256 } },
  glyphs: 'http://fonts.invalid/{fontstack}/{range}.pbf',
  layers: [{ id: 'tiles', type: 'raster', source: 'tiles' }],
};

function sendRange(response: ServerResponse, content: Buffer, range = ''): void {
  const [, first = '0', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
  const part = content.subarray(Number(first), Number(last) + 1);
  const end = Number(first) + part.length - 1;
  response.writeHead(206, { 'Content-Range': `bytes ${first}-${end}/${content.length}`, ETag: '"1"' }).end(part);
}
