import { AppError, ConfigError, compileBody } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';

const httpUrl = '^https?://[^\\s/?#]+[^\\s]*$';

/** A base map that users of the dashboard can choose. */
export const mapSourceSchema = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 60, description: 'Name that users see.' }),
    type: Type.Union([Type.Literal('raster'), Type.Literal('vector'), Type.Literal('pmtiles'), Type.Literal('style')], {
      description:
        'Tiles of images; vector tiles in the Protomaps schema; a PMTiles archive of either; or a MapLibre style.',
    }),
    url: Type.String({
      maxLength: 2_000,
      pattern: httpUrl,
      description: 'Address of the archive or the style, or of tiles with `{z}`, `{x}` and `{y}`.',
    }),
    attribution: Type.String({
      maxLength: 500,
      default: '',
      description: 'Text that the provider requires on the map.',
    }),
    max_zoom: Type.Integer({ minimum: 0, maximum: 24, default: 19, description: 'Highest zoom level that has tiles.' }),
    tile_size: Type.Union([Type.Literal(256), Type.Literal(512)], {
      default: 256,
      description: 'Width of a tile of images in pixels.',
    }),
    coordinate_system: Type.Union([Type.Literal('wgs84'), Type.Literal('gcj02')], {
      default: 'wgs84',
      description: 'Coordinates of the tiles: GCJ-02 is that of Chinese providers.',
    }),
    origins: Type.Array(Type.String({ pattern: '^https?://[^\\s/?#;,]+$' }), {
      maxItems: 10,
      default: [],
      description: 'Further origins that the browser loads from, such as the hosts of tiles and sprites of a style.',
    }),
  },
  { title: 'MapSource' },
);

/** A base map that users of the dashboard can choose. */
type MapSource = Static<typeof mapSourceSchema>;

const check = compileBody(
  Type.Object({
    sources: Type.Array(Type.Object(mapSourceSchema.properties, { additionalProperties: false }), { maxItems: 10 }),
  }),
);

/** Returns what is wrong with a source beyond its schema; undefined if nothing is. */
function findFault({ type, url, coordinate_system: system }: MapSource): string | undefined {
  const hasTemplate = ['{z}', '{x}', '{y}'].every((part) => url.includes(part));
  if ((type === 'raster' || type === 'vector') && !hasTemplate) return 'needs {z}, {x} and {y} in its url';
  // Images can be moved to their place; the coordinates inside other tiles cannot.
  if (system === 'gcj02' && type !== 'raster') return 'can have coordinate_system gcj02 only as raster';
  if (!URL.canParse(url)) return 'has an invalid url';
  return undefined;
}

/** Parses MAP_SOURCES: a JSON array of base maps, the first of which is shown at first. Throws a ConfigError. */
export function readMapSources(text: string | undefined): readonly MapSource[] {
  if (text === undefined) return [];
  const { sources } = parse(text);
  const names = new Set(sources.map(({ name }) => name));
  if (names.size < sources.length) throw new ConfigError('MAP_SOURCES has two sources of the same name.');
  for (const source of sources) {
    const fault = findFault(source);
    if (fault !== undefined) throw new ConfigError(`MAP_SOURCES: ${source.name} ${fault}.`);
  }
  return sources;
}

function parse(text: string): { readonly sources: readonly MapSource[] } {
  try {
    return check({ sources: JSON.parse(text) as unknown }) as { sources: MapSource[] };
  } catch (cause) {
    throw new ConfigError(`MAP_SOURCES is invalid: ${describe(cause as Error)}`, { cause });
  }
}

/** Returns the field and the fault of invalid input, and the message of another error. */
function describe(error: Error): string {
  const fault = error instanceof AppError ? error.details[0] : undefined;
  if (fault === undefined) return error.message;
  const field = fault.path.replace('/sources', '').slice(1).replaceAll('/', '.');
  return `${field === '' ? 'the value' : field} ${fault.message}.`;
}
